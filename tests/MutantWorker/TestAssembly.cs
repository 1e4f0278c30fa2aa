using System.Reflection;
using Xunit;
using Xunit.Abstractions;
using Xunit.Sdk;

namespace FastCgi.AspNetCore.MutantWorker;

/// <summary>The tests of an assembly, but those of the category Exploration; with MUTANT_TESTS, those whose name has it. They run one at a time.</summary>
internal sealed class TestAssembly
{
    private readonly ITestFrameworkExecutor _executor;
    private readonly ITestCase[] _tests;
    private readonly Dictionary<string, int> _numbers;

    private TestAssembly(ITestFrameworkExecutor executor, ITestCase[] tests)
    {
        _executor = executor;
        _tests = tests;
        _numbers = tests.Select((test, number) => (test.UniqueID, number)).ToDictionary(pair => pair.UniqueID, pair => pair.number);
    }

    public int Count => _tests.Length;

    public static TestAssembly Load(string path)
    {
        var name = AssemblyName.GetAssemblyName(path);
        var framework = new XunitTestFramework(new NullSink());
        var discovered = new DiscoverySink();
        var discoverer = framework.GetDiscoverer(Reflector.Wrap(Assembly.Load(name)));
        discoverer.Find(includeSourceInformation: false, discovered, new Options());
        discovered.Finished.Wait();

        var tests = discovered.Tests.DistinctBy(test => test.UniqueID).OrderBy(test => test.UniqueID, StringComparer.Ordinal);
        return new(framework.GetExecutor(name), [.. tests]);
    }

    public string NameOf(int number) => _tests[number].DisplayName;

    /// <summary>Runs tests until one fails, and tells which.</summary>
    public int? FindFailing(IEnumerable<int> numbers)
    {
        var sink = new ExecutionSink();
        _executor.RunTests(numbers.Select(number => _tests[number]), sink, new Options());
        sink.Finished.Wait();
        return sink.Failed is { } failed ? _numbers.GetValueOrDefault(failed, -1) : null;
    }

    private sealed class NullSink : LongLivedMarshalByRefObject, IMessageSink
    {
        public bool OnMessage(IMessageSinkMessage message) => true;
    }

    private sealed class DiscoverySink : LongLivedMarshalByRefObject, IMessageSink
    {
        public List<ITestCase> Tests { get; } = [];

        public ManualResetEventSlim Finished { get; } = new();

        public bool OnMessage(IMessageSinkMessage message)
        {
            if (message is ITestCaseDiscoveryMessage { TestCase: var test } && IsWanted(test))
                Tests.Add(test);
            if (message is IDiscoveryCompleteMessage)
                Finished.Set();
            return true;
        }

        private static bool IsWanted(ITestCase test)
            => test.SkipReason is null && !IsExploration(test)
                && test.DisplayName.Contains(Environment.GetEnvironmentVariable("MUTANT_TESTS") ?? "", StringComparison.Ordinal);

        private static bool IsExploration(ITestCase test)
            => test.Traits.TryGetValue("Category", out var categories) && categories.Contains("Exploration");
    }

    private sealed class ExecutionSink : LongLivedMarshalByRefObject, IMessageSink
    {
        public string? Failed { get; private set; }

        public ManualResetEventSlim Finished { get; } = new();

        public bool OnMessage(IMessageSinkMessage message)
        {
            switch (message)
            {
                case ITestFailed failed:
                    Failed ??= failed.TestCase.UniqueID;
                    break;
                // What is made for a class or a collection, and removed, can fail too.
                case ITestClassCleanupFailure or ITestCollectionCleanupFailure or ITestCaseCleanupFailure or ITestCleanupFailure or IErrorMessage:
                    Failed ??= "";
                    break;
                case ITestAssemblyFinished:
                    Finished.Set();
                    break;
            }
            return Failed is null;
        }
    }

    private sealed class Options : ITestFrameworkDiscoveryOptions, ITestFrameworkExecutionOptions
    {
        private readonly Dictionary<string, object?> _values = new()
        {
            ["xunit.execution.DisableParallelization"] = true,
            ["xunit.execution.SynchronousMessageReporting"] = true,
        };

        public TValue GetValue<TValue>(string name) => _values.TryGetValue(name, out var value) && value is TValue typed ? typed : default!;

        public void SetValue<TValue>(string name, TValue value) => _values[name] = value;
    }
}
