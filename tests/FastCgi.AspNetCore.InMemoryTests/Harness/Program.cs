using Xunit.Sdk;

// Runs the tests without dotnet test, which cannot start a process for another architecture: see tests/arm64.sh.
// Arguments: parts of the names of tests to leave out.
var assembly = Assembly.GetExecutingAssembly();
var framework = new SkippingTestFramework(new Sink());
var sink = new Sink();
framework.GetDiscoverer(Reflector.Wrap(assembly)).Find(includeSourceInformation: false, sink, new Options());
sink.Completed.Wait();
var cases = sink.Cases.Where(test => !args.Any(part => test.DisplayName.Contains(part)))
    .ToList();
sink.Completed.Reset();
framework.GetExecutor(assembly.GetName()).RunTests(cases, sink, new Options());
sink.Completed.Wait();
Console.WriteLine($"{sink.Passed} passed, {sink.Failed} failed, {sink.Skipped} skipped");
return sink.Passed > 0 && sink.Failed == 0 ? 0 : 1;

internal sealed class Sink : LongLivedMarshalByRefObject, IMessageSink
{
    private int _passed;
    private int _failed;
    private int _skipped;

    public ManualResetEventSlim Completed { get; } = new();

    public ConcurrentQueue<ITestCase> Cases { get; } = [];

    public int Passed => _passed;

    public int Failed => _failed;

    public int Skipped => _skipped;

    public bool OnMessage(IMessageSinkMessage message)
    {
        switch (message)
        {
            case ITestCaseDiscoveryMessage discovered:
                Cases.Enqueue(discovered.TestCase);
                break;
            case ITestPassed:
                Interlocked.Increment(ref _passed);
                break;
            case ITestSkipped:
                Interlocked.Increment(ref _skipped);
                break;
            case ITestFailed failed:
                Interlocked.Increment(ref _failed);
                Console.WriteLine($"Failed {failed.Test.DisplayName}\n{Describe(failed)}");
                break;
            case IErrorMessage error:
                Interlocked.Increment(ref _failed);
                Console.WriteLine($"Failed\n{Describe(error)}");
                break;
            case IDiscoveryCompleteMessage or ITestAssemblyFinished:
                Completed.Set();
                break;
        }

        return true;
    }

    private static string Describe(IFailureInformation failure)
        => $"{string.Join('\n', failure.Messages)}\n{string.Join('\n', failure.StackTraces)}";
}

internal sealed class Options : ITestFrameworkDiscoveryOptions, ITestFrameworkExecutionOptions
{
    private readonly Dictionary<string, object?> _values = [];

    public TValue GetValue<TValue>(string name) => _values.TryGetValue(name, out var value) ? (TValue)value! : default!;

    public void SetValue<TValue>(string name, TValue value) => _values[name] = value;
}
