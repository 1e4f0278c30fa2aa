using System.Collections.Immutable;

namespace FastCgi.AspNetCore.ProcessTests.Faults;

/// <summary>
/// Each system call of the server returns each error in its manual page, under load. Only the affected connection may
/// be lost, and the server continues. FASTCGI_FAULTS sets how often each error occurs (default: 2).
/// </summary>
public sealed class SystemCallFaultTests(ITestOutputHelper output)
{
    private const int Interrupted = 4;
    private const int NoThread = 11;
    private const int TooManyFilesInSystem = 23;
    private const int NoSpace = 28;

    // EBADF, EFAULT, EINVAL, ENOTSOCK, and similar errors occur only after a defect. The server must not spin on them.
    private static readonly ImmutableArray<int> s_acceptErrors =
    [
        11, 9, 103, 14, 4, 22, 24, 23, 105, 12, 88, 95, 1, 71, 63, 94, 93, 110, 100, 92, 112, 64, 113, 101,
    ];
    private static readonly ImmutableArray<int> s_receiveErrors = [9, 111, 14, 4, 22, 12, 107, 88, 104, 110, 105];
    private static readonly ImmutableArray<int> s_sendErrors =
    [
        11, 13, 114, 9, 104, 89, 14, 4, 22, 106, 90, 105, 12, 107, 88, 95, 32, 110,
    ];
    private static readonly ImmutableArray<int> s_epollControlErrors = [9, 17, 22, 40, 2, 12, 28, 1];
    private static readonly ImmutableArray<int> s_epollWaitErrors = [9, 14, 4, 22];
    private static readonly ImmutableArray<int> s_socketOptionErrors = [9, 14, 22, 92, 88];
    private static readonly int s_count = int.Parse(
        Environment.GetEnvironmentVariable("FASTCGI_FAULTS") ?? "2", CultureInfo.InvariantCulture);

    [Theory, MemberData(nameof(ServerSetup.Epoll), MemberType = typeof(ServerSetup))]
    public async Task Calls_EachError_OnlyTheConnectionIsLost(ServerSetup setup)
    {
        await using var server = await FaultedServer.StartAsync(
            setup, arguments: ["--FastCgi:Limits:MaxRequestBufferSize=16384"]);
        var before = await server.GetUsageAsync();
        await using var load = FaultLoad.Start(server);
        await load.WaitForEachAsync();
        Assert.Empty(load.Losses);

        foreach (var (call, errors) in GetErrors())
        {
            var lossesBefore = load.Losses.Count;
            var doneBefore = server.Plan.Done(call);
            if (errors.Contains(Interrupted))
            {
                await FailAsync(server, load, call, Interrupted);
                await load.WaitForEachAsync();
                // An interrupted call is not a failure.
                Assert.Equal(lossesBefore, load.Losses.Count);
            }

            foreach (var error in errors.Remove(Interrupted))
                await FailAsync(server, load, call, error);
            await load.WaitForEachAsync();
            var done = server.Plan.Done(call) - doneBefore;
            Assert.InRange(done, errors.Length * s_count, int.MaxValue);
            // Without descriptors, waiting connections are closed too.
            var isBounded = call != SystemCall.Accept;
            Assert.True(
                !isBounded || load.Losses.Count - lossesBefore <= done,
                $"{call}: {done} faults, {string.Join("; ", load.Losses.Skip(lossesBefore))}");
            output.WriteLine(
                $"{call}: {errors.Length} errors, {done} faults, {load.Losses.Count - lossesBefore} connections lost, "
                    + $"{load.Answers} answers so far");
        }

        await load.EndAsync();
        await server.SettleAsync(before, descriptors: 40, threads: 24);
        AssertLog(server.Output);
    }

    /// <summary>
    /// Blocking handlers need threads that the system cannot create: they wait for the existing ones.
    /// </summary>
    [Theory, MemberData(nameof(ServerSetup.All), MemberType = typeof(ServerSetup))]
    public async Task Threads_CannotBeMade_RequestsAreAnswered(ServerSetup setup)
    {
        await using var server = await FaultedServer.StartAsync(setup);
        var count = 4;
        for (var i = 0; i < 2; i++)
        {
            server.Plan.FailNext(SystemCall.CreateThread, NoThread, s_count);
            await BlockAsync(server, count += 4, milliseconds: 40 + i);
        }

        Assert.InRange(server.Plan.Done(SystemCall.CreateThread), 2, int.MaxValue);
        AssertLog(server.Output);
    }

    /// <summary>If epoll is not available, the server logs the reason and uses .NET's sockets.</summary>
    [Theory]
    [InlineData(SystemCall.EventDescriptor, TooManyFilesInSystem)]
    [InlineData(SystemCall.EpollControl, NoSpace)]
    public async Task Start_EpollFails_OtherSocketsServe(SystemCall call, int error)
    {
        await using var server = FaultedServer.Begin(
            new ServerSetup(ServerEngine.Epoll, IsUnix: true), isFaulted: true, fault: (call, error));
        await server.WaitForStartAsync();
        Assert.Equal("awake", await FastCgiClient.GetAsync(server.Address, "/block/1"));
        Assert.Equal(1, server.Plan.Done(call));
        Assert.Contains("Epoll is not available", server.Output);
    }

    [Fact]
    public async Task Start_NoMemory_EndsWithReason()
    {
        await using var server = FaultedServer.Begin(
            new ServerSetup(ServerEngine.Epoll, IsUnix: true), isFaulted: true, fault: (SystemCall.Allocate, 12));
        Assert.NotEqual(0, await server.WaitForExitAsync());
        Assert.Equal(1, server.Plan.Done(SystemCall.Allocate));
        Assert.Contains("OutOfMemoryException", server.Output);
    }

    /// <summary>The system sends and receives one byte at a time.</summary>
    [Theory, MemberData(nameof(ServerSetup.All), MemberType = typeof(ServerSetup))]
    public async Task SendsAndReceives_OfOneByte_LoseNothing(ServerSetup setup)
    {
        await using var server = await FaultedServer.StartAsync(setup);
        await using var load = FaultLoad.Start(server);
        await load.WaitForEachAsync();
        foreach (var call in new[] { SystemCall.Receive, SystemCall.Send })
        {
            foreach (var length in new[] { 1, 7, 4_099 })
            {
                server.Plan.ShortenNext(call, length, 1_000 * s_count);
                await load.WaitAsync(() => server.Plan.Remaining(call) <= 0, $"{call} of {length} bytes");
            }
        }

        await load.WaitForEachAsync();
        await load.EndAsync();
        Assert.Empty(load.Losses);
        output.WriteLine($"{load.Answers} answers");
        AssertLog(server.Output);
    }

    private static IEnumerable<(SystemCall Call, ImmutableArray<int> Errors)> GetErrors()
    {
        yield return (SystemCall.Accept, s_acceptErrors);
        yield return (SystemCall.Receive, s_receiveErrors);
        yield return (SystemCall.Send, s_sendErrors);
        yield return (SystemCall.EpollControl, s_epollControlErrors);
        yield return (SystemCall.EpollWait, s_epollWaitErrors);
        yield return (SystemCall.GetSocketOption, s_socketOptionErrors);
    }

    private static async Task FailAsync(FaultedServer server, FaultLoad load, SystemCall call, int error)
    {
        server.Plan.FailNext(call, error, s_count);
        await load.WaitAsync(() => server.Plan.Remaining(call) <= 0, $"error {error} of {call}");
        server.Plan.Clear(call);
    }

    private static async Task BlockAsync(FaultedServer server, int count, int milliseconds)
    {
        try
        {
            var answers = await Task.WhenAll(Enumerable.Range(0, count).Select(_ => FastCgiClient.GetAsync(
                server.Address, $"/block/{milliseconds}")));
            Assert.All(answers, static answer => Assert.Equal("awake", answer));
        }
        catch (IOException exception)
        {
            Assert.Fail($"{exception.Message} {server.Output}");
        }
    }

    /// <summary>Repeated messages are logged once per minute.</summary>
    private static void AssertLog(string output)
    {
        string[] levels = ["warn:", "fail:", "crit:"];
        var lines = output.Split('\n').Where(line => levels.Contains(line[..Math.Min(5, line.Length)])).ToList();
        Assert.True(lines.Count <= 10, output);
    }
}
