namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>The rows of the status: the important requests are shown, and no row can be large.</summary>
public sealed class StatusRowTests
{
    private readonly TaskCompletionSource _go = Waiting.Signal();

    [Fact]
    public async Task Requests_OnConnectionsOpenedLast_AreShownOldestFirst()
    {
        await using var server = await TestServer.StartAsync(async _ => await _go.Task);
        for (var i = 0; i < 300; i++)
            server.Connect();
        for (var i = 0; i < 5; i++)
        {
            server.Send($"/{i}");
            server.Clock.Advance(TimeSpan.FromSeconds(1));
        }

        Assert.Equal(
            ["/0", "/1", "/2", "/3", "/4"],
            server.Connections.DescribeRequests(200).Select(static request => request.Path));
        Assert.Equal(["/0", "/1", "/2"], server.Connections.DescribeRequests(3).Select(static request => request.Path));
        Assert.Equal(200, server.Connections.Describe(200).Count);
        _go.SetResult();
    }

    [Fact]
    public async Task Requests_VeryManyAndLong_AreBounded()
    {
        await using var frontEnd = await TestServer.ConnectAsync(
            async _ => await _go.Task, static options => options.Limits.MaxRequestsPerConnection = 1_000);
        var path = "/" + new string('x', 60_000);
        for (var i = 1; i <= 300; i++)
        {
            (string Name, string Value)[] parameters = [(
                "REQUEST_METHOD", new string('M', 200)), ("REQUEST_URI", path), ("REMOTE_ADDR", new string('9', 200))];
            frontEnd.Send(RecordBytes.Begin(i), RecordBytes.ParamsStream(i, parameters));
        }

        var requests = frontEnd.Server.Connections.DescribeRequests(200);

        Assert.Equal(200, requests.Count);
        Assert.All(requests, static request => Assert.InRange(
            request.Method.Length + request.Path.Length + request.Client!.Length, 1, 700));
        Assert.Equal(
            Enumerable.Range(1, 300),
            frontEnd.Server.Connections.DescribeRequests(1_000).Select(static request => (int)request.Id).Order());
        _go.SetResult();
    }

    [Theory]
    [InlineData("/a%0d%0ab", "/a  b")]
    [InlineData("/a%E2%80%AEb", "/a b")]
    [InlineData("/%C3%A4", "/ä")]
    public async Task Path_WithCharactersThatForgeLines_IsCleaned(string uri, string shown)
    {
        await using var server = await TestServer.StartAsync(
            async _ => await _go.Task, static options => options.SlowRequestThreshold = TimeSpan.FromSeconds(1));
        server.Send(uri);

        server.Clock.Advance(TimeSpan.FromSeconds(2));

        Assert.Equal(shown, Assert.Single(server.Connections.DescribeRequests(10)).Path);
        Assert.Contains($"GET {shown} from", (await server.Logs.SingleAsync("SlowRequest")).Message);
        _go.SetResult();
    }

    /// <summary>An application that continues without its client keeps its slot.</summary>
    [Fact]
    public async Task Slots_OfDisconnectedClients_AreCountedUntilTheApplicationReturns()
    {
        await using var server = await TestServer.StartAsync(
            async _ => await _go.Task,
            static options => options.Limits.MaxConcurrentRequests = 2,
            statusPaths: ["/status"]);
        foreach (var uri in new[] { "/1", "/2", "/status" })
        {
            server.Send(uri).Close();
        }

        Assert.Equal(0, server.Connections.CountRequests());
        Assert.Equal((2, 1), server.Context.Admission.TakenCount);
        _go.SetResult();
        await Waiting.UntilAsync(() => server.Context.Admission.TakenCount == (0, 0), "the places to be given back");
    }
}
