using System.Runtime.CompilerServices;
using System.Text.RegularExpressions;
using FastCgi.AspNetCore.Hosting;
using FastCgi.AspNetCore.Streams;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.Extensions.Hosting;

namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>
/// What a client sees of a started response without Content-Length that is not completed, for each reason, web server
/// and setup: what the table in <c>docs/decisions/cut-responses.md</c> says. It waits long, so it runs nightly.
/// </summary>
[Trait("Category", "Nightly")]
public sealed partial class CutTests(ITestOutputHelper output) : IAsyncLifetime, IDisposable
{
    private const int ShortLength = 10;
    private const int LongLength = 20_000_000;
    private const string Cut = "cut";
    private const string Complete = "complete";
    private const string Waits = "waits";

    // The web server took the whole response, so no write waits for the client.
    private const string Impossible = "–";

    // A client that learns nothing in this time waits.
    private static readonly TimeSpan s_limit = TimeSpan.FromSeconds(20);

    // A write that makes no progress in this time waits for the client.
    private static readonly TimeSpan s_stall = TimeSpan.FromMilliseconds(500);

    private static readonly byte[] s_block = new byte[64 * 1024];

    private readonly ConcurrentDictionary<int, Cell> _cells = new();
    private readonly Dictionary<bool, WebApplication> _applications = [];
    private readonly Dictionary<bool, string> _addresses = [];
    private readonly List<FastCgiServerLimits> _limits = [];
    private readonly ConcurrentBag<CutSite> _sites = [];
    private readonly ScratchFolder _folder = new();

    /// <summary>The last two end the application.</summary>
    private enum Reason
    {
        Exception,
        Abort,
        ProtocolError,
        SendTimeout,
        ShutdownTimeout,
        Kill,
    }

    public Task InitializeAsync() => Task.CompletedTask;

    public async Task DisposeAsync()
    {
        await Task.WhenAll(_sites.Select(static site => site.DisposeAsync().AsTask()));
        foreach (var application in _applications.Values)
            await application.DisposeAsync();
    }

    public void Dispose() => _folder.Dispose();

    [Theory]
    [Values(
        FrontEndKind.Nginx, FrontEndKind.Apache, FrontEndKind.Lighttpd, FrontEndKind.HaProxy, FrontEndKind.Caddy)]
    public async Task StartedResponse_IsNotCompleted_ClientSeesWhatTheDocumentSays(FrontEndKind kind)
    {
        await StartApplicationAsync(usesUnixSocket: false);
        await StartApplicationAsync(usesUnixSocket: true);
        await Task.WhenAll(GetSetups(kind).Select(StartSiteAsync));

        foreach (var reason in Enum.GetValues<Reason>())
            await RunAsync(reason);
        await Task.WhenAll(_cells.Values.Select(static cell => cell.Result));

        var table = CutTable.Read();
        var differences = new List<string>();
        foreach (var cells in _cells.Values.GroupBy(static cell => cell.Site))
        {
            var setup = cells.Key.Setup;
            output.WriteLine($"{setup}: {string.Join(", ", cells.OrderBy(static cell => cell.Reason))}");
            foreach (var cell in cells.Where(cell => !table.Get(setup, cell.Column).Contains(cell.Result.Result)))
                differences.Add($"{setup}: {cell}");
        }

        Assert.Empty(differences);
    }

    private static IEnumerable<FrontEndSetup> GetSetups(FrontEndKind kind)
        => from usesTls in new[] { false, true }
           from usesUnixSocket in usesTls ? [true] : new[] { false, true }
           from keeps in GetKeeping(kind, usesTls)
           from buffers in new[] { true, false }
           select new FrontEndSetup
           {
               Kind = kind,
               UsesTls = usesTls,
               UsesUnixSocket = usesUnixSocket,
               KeepsConnections = keeps,
               BuffersResponses = buffers,
           };

    private static bool[] GetKeeping(FrontEndKind kind, bool usesTls)
    {
        if (kind is FrontEndKind.Caddy or FrontEndKind.Lighttpd)
            return [false];
        return usesTls ? [true] : [false, true];
    }

    private async Task StartApplicationAsync(bool usesUnixSocket)
    {
        var builder = WebApplication.CreateBuilder(["--hostBuilder:reloadConfigOnChange=false"]);
        builder.WebHost.UseFastCgi(options => _limits.Add(options.Limits));
        builder.WebHost.UseUrls(_folder.GetAddress(usesUnixSocket));
        builder.Services.Configure<HostOptions>(
            static options => options.ShutdownTimeout = TimeSpan.FromMilliseconds(100));
        builder.Logging.ClearProviders();
        var application = builder.Build();
        application.Run(RespondAsync);
        _applications.Add(usesUnixSocket, application);
        await application.StartAsync();
        _addresses.Add(usesUnixSocket, application.Urls.Single());
        AllowEverybody();
    }

    /// <summary>The web servers may run as another user.</summary>
    private void AllowEverybody()
    {
        var socket = _folder.GetPath("app.sock");
        if (File.Exists(socket))
            File.SetUnixFileMode(socket, (UnixFileMode)0b110_110_110);
    }

    private async Task StartSiteAsync(FrontEndSetup setup)
    {
        var folder = new ScratchFolder();
        if (setup.UsesTls)
            await TestCertificates.WriteAsync(folder.Path);
        EndPoint endPoint = setup.UsesUnixSocket
            ? new UnixDomainSocketEndPoint(_folder.GetPath("app.sock"))
            : IPEndPoint.Parse(_addresses[false]["fastcgi://".Length..]);
        var more = setup.Kind == FrontEndKind.Apache ? "KeepAliveTimeout 1" : "";
        _sites.Add(new CutSite(setup, folder, await FrontEnd.StartAsync(setup, folder.Path, endPoint, more)));
    }

    /// <summary>Begins a response in each setup, and ends all of them for one reason.</summary>
    private async Task RunAsync(Reason reason)
    {
        await using var process = reason == Reason.Kill ? await StartProcessAsync() : null;
        var cells = (from site in _sites
                     from isSlow in new[] { false, true }
                     where isSlow || reason != Reason.SendTimeout
                     select new Cell(reason, site, isSlow)).ToList();
        foreach (var cell in cells)
        {
            var id = _cells.Count;
            _cells[id] = cell;
            var path = process is null ? $"/?cell={id}" : $"/endless/{(cell.IsSlow ? LongLength : ShortLength)}";
            cell.Result = ReadAsync(cell, path);
        }

        if (process is null)
            await WaitAsync(cells, static cell => cell.IsStill);
        else
            await Waiting.UntilAsync(() => HaveBegun(process, cells.Count), "the start of all responses");

        await EndAsync(reason, process);
        cells.ForEach(cell => cell.Act.SetResult());
        if (process is null)
            await WaitAsync(cells, static cell => cell.Over.Task.IsCompleted);
        else
            cells.ForEach(static cell => cell.Over.SetResult());
        _limits.ForEach(static limits => limits.SendTimeout = TimeSpan.FromMinutes(1));
    }

    private async Task EndAsync(Reason reason, ServerProcess? process)
    {
        switch (reason)
        {
            case Reason.ProtocolError:
                foreach (var application in _applications.Values)
                    SendError((FastCgiServer)application.Services.GetRequiredService<IServer>());
                break;
            case Reason.SendTimeout:
                _limits.ForEach(static limits => limits.SendTimeout = TimeSpan.FromSeconds(1));
                break;
            case Reason.ShutdownTimeout:
                await Task.WhenAll(_applications.Values.Select(static application => application.StopAsync()));
                break;
            case Reason.Kill:
                var id = BegunResponse().Match(process!.Output).Groups[1].Value;
                Signal.Send(int.Parse(id, CultureInfo.InvariantCulture), "KILL");
                await process.WaitForExitAsync(Waiting.Patience);
                break;
        }
    }

    /// <summary>Starts the same kind of application at the same addresses as a process of its own.</summary>
    private async Task<ServerProcess> StartProcessAsync()
    {
        var program = Path.Combine(AppContext.BaseDirectory, "ApplicationToStart.dll");
        var process = ServerProcess.Start("dotnet", [program, "--urls", string.Join(';', _addresses.Values)]);
        try
        {
            await Waiting.UntilAsync(() => process.Output.Contains("Application started."), "the application to start");
        }
        catch
        {
            await process.DisposeAsync();
            throw;
        }

        AllowEverybody();
        return process;
    }

    private static bool HaveBegun(ServerProcess process, int count)
        => BegunResponse().Count(process.Output) >= count;

    [GeneratedRegex(@"Process (\d+) has begun a response\.")]
    private static partial Regex BegunResponse();

    private static async Task WaitAsync(List<Cell> cells, Predicate<Cell> hasHappened)
    {
        await Waiting.FindAsync(
            () => Task.FromResult(cells.TrueForAll(hasHappened) ? cells : null),
            () => string.Join('\n', cells.Where(cell => !hasHappened(cell)).Select(
                static cell => $"{cell.Site.Setup}: {cell}")));
    }

    /// <summary>No web server sends invalid bytes, so each connection receives them as if it had.</summary>
    private static void SendError(FastCgiServer server)
    {
        foreach (var connection in ConnectionsOf(server.Connections!).ToList())
        {
            var ready = new ReadyRequests();
            if (connection.GetTotals().Active > 0)
                connection.OnReceived([9, 9, 9, 9, 9, 9, 9, 9], ref ready);
        }
    }

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_connections")]
    private static extern ref HashSet<FastCgiConnection> ConnectionsOf(ConnectionManager manager);

    private async Task RespondAsync(HttpContext context)
    {
        var cell = _cells[int.Parse(context.Request.Query["cell"]!, CultureInfo.InvariantCulture)];
        var aborted = Waiting.Signal();
        context.RequestAborted.Register(() => aborted.TrySetResult());
        var write = WriteAsync(context.Response.Body, cell);
        await cell.Act.Task;
        if (cell.Reason == Reason.Abort)
            context.Abort();
        else if (cell.Reason == Reason.SendTimeout && cell.IsWritten)
            cell.IsImpossible = true;
        else if (cell.Reason != Reason.Exception)
            await aborted.Task;
        cell.Over.SetResult();
        if (cell.Reason == Reason.Exception)
            throw new InvalidOperationException("The application fails.");
        await write;
    }

    private static async Task WriteAsync(Stream body, Cell cell)
    {
        for (var rest = cell.IsSlow ? LongLength : ShortLength; rest > 0; rest -= s_block.Length)
        {
            await body.WriteAsync(s_block.AsMemory(0, Math.Min(rest, s_block.Length)));
            cell.OnProgress();
        }

        cell.IsWritten = true;
    }

    private static async Task<string> ReadAsync(Cell cell, string path)
    {
        var (setup, _, frontEnd) = cell.Site;
        var url = $"{(setup.UsesTls ? "https://localhost" : "http://127.0.0.1")}:{frontEnd.EndPoint.Port}";
        using var client = Site.CreateClient(url, frontEnd.EndPoint, clientCertificate: null, address: null);
        client.Timeout = Timeout.InfiniteTimeSpan;
        var reading = ReadToEndAsync(client, path, cell.Over.Task);
        await Task.WhenAny(cell.Over.Task, reading);
        try
        {
            var result = await reading.WaitAsync(s_limit);
            return cell.IsImpossible ? Impossible : result;
        }
        catch (TimeoutException)
        {
            return Waits;
        }
        catch (Exception exception) when (exception is HttpRequestException or IOException)
        {
            cell.Error = exception.GetBaseException().Message;
            return Cut;
        }
    }

    private static async Task<string> ReadToEndAsync(HttpClient client, string path, Task over)
    {
        using var response = await client.GetAsync(path, HttpCompletionOption.ResponseHeadersRead);
        await over;
        if (response.StatusCode >= HttpStatusCode.InternalServerError)
            return Cut;

        await response.Content.CopyToAsync(Stream.Null);
        return Complete;
    }

    private sealed record CutSite(FrontEndSetup Setup, ScratchFolder Folder, FrontEnd FrontEnd) : IAsyncDisposable
    {
        public async ValueTask DisposeAsync()
        {
            await FrontEnd.DisposeAsync();
            Folder.Dispose();
        }
    }

    private sealed class Cell(Reason reason, CutSite site, bool isSlow)
    {
        private long _lastProgress;

        public Reason Reason => reason;

        public CutSite Site => site;

        /// <summary>Whether the client reads nothing until the response is over.</summary>
        public bool IsSlow => isSlow;

        public string Column => (reason, isSlow) switch
        {
            (Reason.SendTimeout, _) => "`SendTimeout`",
            (Reason.Kill, false) => "killed, idle",
            (Reason.Kill, true) => "killed, writing",
            (_, false) => "idle",
            (_, true) => "writing",
        };

        public TaskCompletionSource Act { get; } = Waiting.Signal();

        public TaskCompletionSource Over { get; } = Waiting.Signal();

        public bool IsWritten { get; set; }

        /// <summary>Whether all is written, or a write waits.</summary>
        public bool IsStill
            => IsWritten || (Volatile.Read(ref _lastProgress) is > 0 and var last
                && TimeProvider.System.GetElapsedTime(last) > s_stall);

        public bool IsImpossible { get; set; }

        public string? Error { get; set; }

        public Task<string> Result { get; set; } = null!;

        public void OnProgress() => Volatile.Write(ref _lastProgress, TimeProvider.System.GetTimestamp());

        public override string ToString()
        {
            var result = Result.IsCompletedSuccessfully ? Result.Result : Result.Status.ToString();
            return $"{reason}{(isSlow ? " (writing)" : "")} = {result} {Error}";
        }
    }
}
