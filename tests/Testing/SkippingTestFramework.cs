using Xunit.Abstractions;
using Xunit.Sdk;

namespace FastCgi.AspNetCore.Testing;

/// <summary>
/// Reports a test that failed because of a <see cref="MissingProgramException"/> as skipped. xunit 2 cannot skip a
/// running test.
/// </summary>
public sealed class SkippingTestFramework(IMessageSink messages) : XunitTestFramework(messages)
{
    protected override ITestFrameworkExecutor CreateExecutor(AssemblyName assemblyName)
        => new Executor(assemblyName, SourceInformationProvider, DiagnosticMessageSink);

    private sealed class Executor(AssemblyName assembly, ISourceInformationProvider sources, IMessageSink messages)
        : XunitTestFrameworkExecutor(assembly, sources, messages)
    {
        protected override void RunTestCases(
            IEnumerable<IXunitTestCase> testCases,
            IMessageSink executionMessageSink,
            ITestFrameworkExecutionOptions executionOptions)
            => base.RunTestCases(testCases, new Results(executionMessageSink), executionOptions);
    }

    private sealed class Results(IMessageSink messages) : LongLivedMarshalByRefObject, IMessageSink
    {
        public bool OnMessage(IMessageSinkMessage message)
            => messages.OnMessage(message is ITestFailed failed ? Convert(failed) : message);

        private static ITestResultMessage Convert(ITestFailed failed)
        {
            var index = Array.IndexOf(failed.ExceptionTypes, typeof(MissingProgramException).FullName);
            return index < 0 ? failed : new TestSkipped(failed.Test, failed.Messages[index]);
        }
    }
}
