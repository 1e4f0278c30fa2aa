namespace FastCgi.AspNetCore.InMemoryTests.Simulation;

/// <summary>No processor is idle while a request is ready, however many processors there are.</summary>
public class SimulationTests
{
    // When threads have started, each path is known, and the loops have measured their load.
    private const long Warm = 12_000;

    // When each loop knows each path that blocks.
    private const long LongWarm = 60_000;

    private static readonly Dictionary<string, Handler[]> s_loads = new()
    {
        ["50"] = [new("/bbbb", 50)],
        ["300"] = [new("/cccc", 300)],
        ["5, 300"] = [new("/aaaa", 5), new("/cccc", 300)],
        ["5 to 5,000"] =
        [
            new("/aaaa", 5), new("/bbbb", 50), new("/cccc", 300), new("/dddd", 1_500), new("/eeee", 5_000),
        ],
        ["short sleeps"] = [new("/gggg", 50, Blocks: 400)],
        ["5, sleeps"] = [new("/aaaa", 5), new("/gggg", 20, Blocks: 150), new("/iiii", 30, Blocks: 900)],
        ["blocking"] = [new("/aaaa", 5), new("/cccc", 300), new("/ffff", 50, Blocks: 2_000)],
        ["all"] =
        [
            new("/aaaa", 5), new("/bbbb", 50), new("/cccc", 300), new("/eeee", 5_000),
            new("/ffff", 50, Blocks: 2_000), new("/hhhh", 300, Awaits: 1_000),
        ],
    };

    [Theory]
    [InlineData("50", 4, 4, false)]
    [InlineData("300", 2, 4, true)]
    [InlineData("300", 16, 4, false)]
    [InlineData("5, 300", 4, 30, false)]
    [InlineData("5 to 5,000", 4, 30, true)]
    [InlineData("5 to 5,000", 16, 100, false)]
    [InlineData("5 to 5,000", 64, 1_000, false)]
    [InlineData("blocking", 4, 30, false)]
    [InlineData("short sleeps", 2, 8, true)]
    [InlineData("short sleeps", 2, 64, true)]
    [InlineData("short sleeps", 4, 30, false)]
    [InlineData("short sleeps", 16, 200, true)]
    [InlineData("5, sleeps", 4, 64, false)]
    [InlineData("5, sleeps", 64, 1_000, true)]
    [InlineData("5 to 5,000", 64, 40, false)]
    [InlineData("all", 16, 10, false)]
    [InlineData("all", 16, 100, false)]
    [InlineData("all", 64, 1_000, true)]
    public void Requests_UnderLoad_WaitForNoIdleProcessor(string load, int processors, int connections, bool isEven)
    {
        var simulation = Run(load, processors, connections, isEven, FastCgiApplicationScheduling.Auto);

        Assert.InRange(simulation.Wasted, 0, simulation.Requests * SimulatedMachine.WakeUp);
        // While another thread wakes up to run the loop, or is started, because more handlers block than ever before.
        Assert.InRange(simulation.LongestWait, 0, SimulatedMachine.ThreadStart + SimulatedMachine.WakeUp);
    }

    /// <summary>With so few connections, the work of each loop comes and goes.</summary>
    [Theory]
    [InlineData("5 to 5,000", 5)]
    [InlineData("5 to 5,000", 12)]
    [InlineData("all", 5)]
    [InlineData("all", 12)]
    public void Requests_AnyNumberOfLoops_NoneWaitsLongForAnIdleProcessor(string load, int connections)
    {
        foreach (var processors in new[] { 1, 2, 3, 4, 8 })
        {
            foreach (var loops in new[] { 1, 2, 3, 4, 8 })
            {
                var simulation = new Simulation(
                    processors, loops, connections, isEven: true, s_loads[load], LongWarm, count: 1_000,
                    FastCgiApplicationScheduling.Auto);
                simulation.Run();
                Assert.InRange(simulation.LongestIdleWait, 0, 2 * SimulatedMachine.ThreadStart);
            }
        }
    }

    /// <summary>The account detects that each request runs where it was received.</summary>
    [Fact]
    public void Requests_RunWhereTheyWereReceived_WaitForAnotherAlthoughAProcessorIsIdle()
    {
        var simulation = Run("5 to 5,000", 4, 30, isEven: true, FastCgiApplicationScheduling.Inline);

        Assert.True(simulation.Wasted > 10 * simulation.Requests * SimulatedMachine.WakeUp);
        Assert.True(simulation.LongestWait > 10 * SimulatedMachine.ThreadStart);
    }

    /// <summary>A handler that sleeps for seconds uses no processor, so it does not use up what others may.</summary>
    [Theory]
    [InlineData(1, 2)]
    [InlineData(2, 4)]
    [InlineData(4, 8)]
    public void Requests_OthersLoadTheMachine_HandlersThatSleepLongTakeNoRoomOfThoseThatSleepBriefly(
        int processors, int others)
    {
        var alone = Run(sleepers: 0);
        var beside = Run(sleepers: 100);

        Assert.InRange(beside, 0, alone * 11 / 10);

        long Run(int sleepers)
        {
            var simulation = new Simulation(
                processors, Math.Max(1, processors / 2), connections: 32 * processors, isEven: true,
                [new("/gggg", 20, Blocks: 200)], 1_000_000, count: 500 * processors, FastCgiApplicationScheduling.Auto)
            {
                Others = others,
                Sleepers = sleepers,
            };
            simulation.Run();
            return simulation.Duration;
        }
    }

    private static Simulation Run(
        string load, int processors, int connections, bool isEven, FastCgiApplicationScheduling scheduling)
    {
        var count = Math.Max(300, connections);
        var simulation = new Simulation(
            processors, processors / 2, connections, isEven, s_loads[load], Warm, count, scheduling);
        simulation.Run();
        return simulation;
    }
}
