namespace FastCgi.AspNetCore.InMemoryTests.Exploration;

/// <summary>
/// All schedules of a small world, up to a number of deviations from the usual order: two connections, three requests
/// (two of them multiplexed), and one event from outside. Each request ends once, with its own body; flushed data is
/// sent within two samples of the watchdog; no request waits longer for another's handler; and nothing leaks.
/// </summary>
/// <remarks>
/// All schedules with up to FASTCGI_DEVIATIONS deviations are explored: about 200,000 of each kind with one.
/// FASTCGI_EXPLORED_SCHEDULES adds that many random ones with up to four, always the same.
/// </remarks>
public class ExplorationTests(ITestOutputHelper output)
{
    private readonly ScriptedApplication _application = new();
    private readonly ChosenDeadlines _deadlines = new();
    private int _maxBlockingThreads = 1_000;

    /// <summary>With a thread for each handler that blocks, and with one for all.</summary>
    [Theory, Values(1_000, 1)]
    [Trait("Category", "Exploration")]
    public void Schedules_WithFewDeviations_AllKeepThePromises(int maxBlockingThreads)
    {
        _maxBlockingThreads = maxBlockingThreads;
        var choices = new Choices { MaxDeviations = GetSetting("FASTCGI_DEVIATIONS", 1) };
        var server = CreateServer();
        var count = 0;
        for (int[]? prefix = []; prefix is not null; prefix = choices.Next())
        {
            Run(server, choices, prefix, random: null);
            count++;
        }

        output.WriteLine($"{count} schedules explored, which are all.");
        Assert.True(count > 1_000);
    }

    [Theory, Values(1_000, 1)]
    [Trait("Category", "Exploration")]
    public void Schedules_Random_KeepThePromises(int maxBlockingThreads)
    {
        _maxBlockingThreads = maxBlockingThreads;
        var max = GetSetting("FASTCGI_EXPLORED_SCHEDULES", 20_000);
        var choices = new Choices { MaxDeviations = 4 };
        var server = CreateServer();
        for (var seed = 0; seed < max; seed++)
            Run(server, choices, [], new Random(seed));

        output.WriteLine($"{max} schedules explored.");
    }

    /// <summary>Schedules that once revealed a defect. After the given choices, the order is the usual one.</summary>
    [Theory]
    [InlineData("a flush of a handler that blocks stays behind when its thread is taken", 0, 0, 1, 0)]
    [InlineData("a flush of a handler that awaits is not sent when the batch ends", 0, 0, 2, 0)]
    [InlineData("a flush that was held for the end of its response, which does not come", 3, 0, 0, 0)]
    [InlineData("the second of two requests waits for the first, which blocks", 1, 0, 0, 0)]
    [InlineData("the answer of the first request waits for the second, which blocks", 0, 1, 0, 0)]
    [InlineData("a handler that blocks is aborted from elsewhere", 1, 1, 1, 3)]
    [InlineData("the server stops while handlers block", 1, 1, 1, 4)]
    [InlineData("the web server closes while handlers block and await", 1, 2, 1, 1)]
    [InlineData("a client gives up and the server stops while handlers block and await", 1, 2, 1, 7)]
    public void Schedule_OfAPastDefect_KeepsThePromises(string name, params int[] choices)
    {
        output.WriteLine(name);
        Run(CreateServer(), new Choices { MaxDeviations = int.MaxValue }, choices, random: null);
    }

    private static int GetSetting(string name, int usual)
        => int.Parse(Environment.GetEnvironmentVariable(name) ?? $"{usual}", CultureInfo.InvariantCulture);

    private ServerContext CreateServer() => ServerContext.Create(
        new FastCgiServerOptions(), _application, NullLogger.Instance, TimeProvider.System, _deadlines.TrySetDeadline);

    private void Run(ServerContext server, Choices choices, int[] prefix, Random? random)
    {
        choices.Begin(prefix, random);
        try
        {
            RunOnce(server, choices, trace: null);
        }
        catch (Exception exception)
        {
            int[] schedule = [.. choices.Made];
            var trace = new List<string>();
            choices.Begin(schedule);
            var again = Record.Exception(() => RunOnce(CreateServer(), choices, trace));
            Assert.Fail(
                $"The schedule [{string.Join(", ", schedule)}] fails: {exception}{Environment.NewLine}"
                    + $"{string.Join(Environment.NewLine, trace)}{Environment.NewLine}Again: {again?.Message}");
        }
    }

    private void RunOnce(ServerContext server, Choices choices, List<string>? trace)
    {
        new VirtualWorld(server, _deadlines, _application, choices, trace, _maxBlockingThreads).Run();
        Assert.Equal(0, server.Buffers.RentedCount);
        Assert.Null(Invariants.FirstViolation?.ToString());
    }
}
