using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Text.Json;
using System.Text.RegularExpressions;
using Microsoft.AspNetCore.Hosting;
using Microsoft.Extensions.Logging;

namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>The figures of the status agree with those of the client, of nginx and of the system: exactly, where both count the same.</summary>
[Collection(nameof(StatusFiguresTests))]
[CollectionDefinition(nameof(StatusFiguresTests), DisableParallelization = true)]
public sealed partial class StatusFiguresTests : IAsyncLifetime, IDisposable
{
    private const int BodyLength = 1_000;

    // Of a latency that the status tells.
    private const double Resolution = 1.13;

    private readonly ScratchFolder _folder = new();
    private readonly PortReservation _port = new();
    private readonly PortReservation _statusPort = new();
    private readonly HttpClient _http = new() { Timeout = Waiting.Patience };
    private WebApplication? _app;
    private FrontEnd? _nginx;
    private int _served;
    private int _nginxReads;
    private bool _usesUnixSocket;

    private string SocketPath => _folder.GetPath("app.sock");

    private string Url => $"http://{_nginx!.EndPoint}";

    public Task InitializeAsync() => Task.CompletedTask;

    public async Task DisposeAsync()
    {
        if (_nginx is not null)
            await _nginx.DisposeAsync();
        if (_app is not null)
            await _app.DisposeAsync();
    }

    public void Dispose()
    {
        _http.Dispose();
        _statusPort.Dispose();
        _port.Dispose();
        _folder.Dispose();
    }

    /// <summary>One client, one request after the other: nothing is under way when it ends, so everybody has counted the same.</summary>
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Figures_OfOneClient_AreExact(bool usesUnixSocket)
    {
        const int Count = 100;
        await StartAsync(usesUnixSocket);
        Assert.Equal(0, (await ReadAsync()).GetProperty("requests").GetProperty("total").GetInt64());

        var run = await LoadRun.MakeAsync(Url + "/", connections: 1, seconds: 3, limit: Count);
        var status = await ReadWhenIdleAsync();

        var (requests, connections, recent) = (status.GetProperty("requests"), status.GetProperty("connections"), status.GetProperty("recent"));
        Assert.Equal((Count, 0), (run.Requests, run.Errors));
        Assert.Equal(Count, requests.GetProperty("total").GetInt64());
        Assert.Equal(Count, _served);
        Assert.Equal(Count, await ReadNginxRequestsAsync());
        Assert.All(requests.GetProperty("aborted").EnumerateObject(), static cause => Assert.Equal(0, cause.Value.GetInt64()));
        Assert.Empty(requests.GetProperty("rejected").EnumerateObject());
        Assert.Equal((1, 1), (connections.GetProperty("total").GetInt64(), connections.GetProperty("active").GetInt64()));
        Assert.Equal(1, await CountConnectionsAsync());
        await AssertBytesAsync(connections, run);
        AssertRecent(recent, run);
    }

    /// <summary>What takes time in the application, and what nobody can do faster than it.</summary>
    [Fact]
    public async Task Latencies_OfAHandlerThatWaits_AreNeitherLessThanItNorMoreThanTheClientSees()
    {
        await StartAsync(usesUnixSocket: true);
        await ReadAsync();

        var run = await LoadRun.MakeAsync(Url + "/slow", connections: 4, seconds: 1, limit: 0);
        var recent = (await ReadWhenIdleAsync()).GetProperty("recent");

        Assert.Equal(0, run.Errors);
        Assert.InRange(recent.GetProperty("p50").GetDouble(), 0.020, run.Percentile99.TotalSeconds * Resolution);
        Assert.InRange(recent.GetProperty("p99").GetDouble(), recent.GetProperty("p50").GetDouble(), recent.GetProperty("max").GetDouble());
        Assert.InRange(recent.GetProperty("measured").GetInt64(), run.Requests, run.Requests + 4);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Figures_OfTheProcess_AreThoseOfTheSystem(bool usesUnixSocket)
    {
        var limit = int.Parse(await File.ReadAllTextAsync("/proc/sys/net/core/somaxconn"), CultureInfo.InvariantCulture);
        await StartAsync(usesUnixSocket, backlog: limit + 1);
        await ReadAsync();

        // Others of this process may open and close one meanwhile. .NET's debugger waits at a pipe that nobody has opened: its descriptor is
        // taken, which counts for the limit, and not listed.
        await Waiting.UntilAsync(
            async () => (await ReadAsync()).GetProperty("resources").GetProperty("descriptors").GetInt64() - (Directory.EnumerateFileSystemEntries("/proc/self/fd").Count() - 1) is 0 or 1,
            static () => null, "the same descriptors");
        var status = await ReadAsync();

        var resident = status.GetProperty("resources").GetProperty("residentMemory").GetInt64();
        Assert.InRange(resident, ReadNumber("/proc/self/status", "VmRSS:") * 1024 * 0.8, ReadNumber("/proc/self/status", "VmHWM:") * 1024 * 1.05);
        Assert.Equal(ReadNumber("/proc/self/limits", "Max open files"), long.Parse(GetLimit(status, "file descriptors"), NumberStyles.AllowThousands, CultureInfo.InvariantCulture));
        Assert.Equal(Environment.ProcessId, status.GetProperty("processId").GetInt32());
        // The status says that the queue is cut, and to what; the system has cut it to that.
        var cut = Assert.Single(status.GetProperty("recommendations").EnumerateArray(), static finding => finding.GetProperty("name").GetString() == "BacklogCut");
        Assert.Contains($"{limit}", cut.GetProperty("message").GetString()!.Replace(",", "", StringComparison.Ordinal), StringComparison.Ordinal);
        var listener = Assert.Single(await ListSocketsAsync("listening"));
        Assert.Equal(limit, int.Parse(listener.Split(' ', StringSplitOptions.RemoveEmptyEntries)[_usesUnixSocket ? 3 : 1], CultureInfo.InvariantCulture));
    }

    [GeneratedRegex("(bytes_sent|bytes_received):([0-9]+)")]
    private static partial Regex SocketBytes();

    private static string GetLimit(JsonElement status, string name)
        => status.GetProperty("limits").EnumerateArray().Single(row => row.GetProperty("name").ValueEquals(name)).GetProperty("limit").GetString()!;

    private static long ReadNumber(string file, string name)
        => long.Parse(File.ReadLines(file).Single(line => line.StartsWith(name, StringComparison.Ordinal))[name.Length..].Split(' ', StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries)[0], CultureInfo.InvariantCulture);

    private static void AssertRecent(JsonElement recent, LoadRun run)
    {
        Assert.Equal(run.Requests, recent.GetProperty("measured").GetInt64());
        var (seconds, rate) = (recent.GetProperty("seconds").GetDouble(), recent.GetProperty("requestsPerSecond").GetDouble());
        // Both are rounded to a tenth.
        Assert.InRange(rate * seconds, run.Requests - (0.06 * (rate + seconds)), run.Requests + (0.06 * (rate + seconds)));
        Assert.InRange(seconds, run.Duration.TotalSeconds - 0.1, Waiting.Patience.TotalSeconds);
        Assert.InRange(rate, 0.1, (run.Requests / run.Duration.TotalSeconds) + 2);
        Assert.InRange(recent.GetProperty("p50").GetDouble(), 1e-6, run.Percentile99.TotalSeconds * Resolution);
        Assert.InRange(recent.GetProperty("max").GetDouble(), recent.GetProperty("p50").GetDouble(), run.Duration.TotalSeconds * Resolution);
    }

    /// <summary>Around the body there are the records, and of headers what each side adds.</summary>
    private async Task AssertBytesAsync(JsonElement connections, LoadRun run)
    {
        var (received, sent) = (connections.GetProperty("bytesReceived").GetInt64(), connections.GetProperty("bytesSent").GetInt64());
        // Two records at least, and few headers; nginx adds Server, Date and Connection.
        Assert.InRange((sent / run.Requests) - BodyLength, 24, 150);
        Assert.InRange((run.Bytes - sent) / run.Requests, 20, 150);
        Assert.InRange(received / run.Requests, 200, 1_000);
        if (_usesUnixSocket)
            return;

        // What the system says of the one socket.
        var counts = SocketBytes().Matches(string.Join('\n', await ListSocketsAsync("established"))).ToDictionary(static match => match.Groups[1].Value, static match => long.Parse(match.Groups[2].Value, CultureInfo.InvariantCulture));
        Assert.Equal((counts["bytes_received"], counts["bytes_sent"]), (received, sent));
    }

    private async Task<JsonElement> ReadAsync()
    {
        using var document = JsonDocument.Parse(await _http.GetStringAsync($"http://{_statusPort.EndPoint}/fastcgi-status?json"));
        return document.RootElement.Clone();
    }

    /// <summary>The client may be gone before nginx has seen it, and nginx before the server is through with its last request.</summary>
    private async Task<JsonElement> ReadWhenIdleAsync()
    {
        // The one request that it answers is this one.
        await Waiting.UntilAsync(async () => (await ReadNginxAsync()).Contains("Reading: 0 Writing: 1 ", StringComparison.Ordinal), static () => null, "nginx to be idle");
        var status = await ReadAsync();
        await Waiting.UntilAsync(
            async () =>
            {
                status = await ReadAsync();
                return status.GetProperty("requests").GetProperty("active").GetInt64() == 0
                    && status.GetProperty("openConnections").EnumerateArray().All(static connection => connection.GetProperty("state").GetString() == "idle")
                    && status.GetProperty("connections").GetProperty("active").GetInt64() == await CountConnectionsAsync();
            },
            static () => null,
            "the requests and connections to end");
        return status;
    }

    /// <summary>The requests that nginx has seen, without those for this: "server accepts handled requests", and the numbers.</summary>
    private async Task<long> ReadNginxRequestsAsync()
    {
        var text = await ReadNginxAsync();
        return long.Parse(text.Split('\n')[2].Split(' ', StringSplitOptions.RemoveEmptyEntries)[2], CultureInfo.InvariantCulture) - _nginxReads;
    }

    private Task<string> ReadNginxAsync()
    {
        _nginxReads++;
        return _http.GetStringAsync(Url + "/nginx-status");
    }

    private async Task<int> CountConnectionsAsync() => (await ListSocketsAsync("connected")).Count;

    /// <summary>The sockets of the endpoint, as the system lists them.</summary>
    private async Task<List<string>> ListSocketsAsync(string state)
    {
        if (!_usesUnixSocket)
            return [.. (await LoadRun.RunAsync("ss", $"-OtniH state {(state == "connected" ? "established" : state)} sport = :{_port.EndPoint.Port}".Split(' '))).Split('\n', StringSplitOptions.RemoveEmptyEntries)];

        var sockets = await LoadRun.RunAsync("ss", $"-xnH {(state == "listening" ? "-l" : "state established")}".Split(' '));
        return [.. sockets.Split('\n').Where(line => line.Contains($" {SocketPath} ", StringComparison.Ordinal))];
    }

    private async Task StartAsync(bool usesUnixSocket, int? backlog = null)
    {
        _usesUnixSocket = usesUnixSocket;
        var builder = WebApplication.CreateBuilder(["--hostBuilder:reloadConfigOnChange=false"]);
        builder.Logging.ClearProviders();
        builder.WebHost.UseFastCgi();
        var query = (usesUnixSocket, backlog) switch
        {
            (true, null) => "?mode=0666",
            (true, _) => $"?mode=0666&backlog={backlog}",
            (false, null) => "",
            _ => $"?backlog={backlog}",
        };
        builder.WebHost.UseUrls((usesUnixSocket ? $"fastcgi://unix:{SocketPath}" : $"fastcgi://{_port.EndPoint}") + query, $"http://{_statusPort.EndPoint}");
        _app = builder.Build();
        _app.MapFastCgiStatus().AllowAnonymous();
        var body = new string('x', BodyLength);
        _app.MapGet("/", () =>
        {
            Interlocked.Increment(ref _served);
            return body;
        });
        _app.MapGet("/slow", static () => Task.Delay(25));
        await _app.StartAsync();
        var setup = new FrontEndSetup { Kind = FrontEndKind.Nginx, UsesUnixSocket = usesUnixSocket, KeepsConnections = true };
        EndPoint endPoint = usesUnixSocket ? new UnixDomainSocketEndPoint(SocketPath) : _port.EndPoint;
        _nginx = await FrontEnd.StartAsync(setup, _folder.Path, endPoint, "location = /nginx-status { stub_status; }");
    }
}
