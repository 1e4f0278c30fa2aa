using System.Net;
using System.Net.Sockets;
using Microsoft.Extensions.Logging;

namespace FastCgi.AspNetCore.FrontEndTests.Documents;

/// <summary>
/// An application behind a web server that has the smallest configuration of its document, but for a mistake. When it is disposed, an error that
/// the application logged and the test did not expect fails the test.
/// </summary>
internal sealed class MistakenSite : IAsyncDisposable
{
    // For a line that is written after the answer.
    private static readonly TimeSpan s_patience = TimeSpan.FromSeconds(5);
    private static readonly TimeSpan s_pollInterval = TimeSpan.FromMilliseconds(10);

    private readonly ScratchFolder _folder;
    private readonly TestApplication? _application;
    private readonly FrontEnd _frontEnd;

    private MistakenSite(ScratchFolder folder, TestApplication? application, FrontEnd frontEnd)
    {
        _folder = folder;
        _application = application;
        _frontEnd = frontEnd;
        Client = Site.CreateClient($"http://{FrontEndDocument.HostName}:{frontEnd.EndPoint.Port}", frontEnd.EndPoint, clientCertificate: null, address: null);
    }

    /// <summary>A client that shows each response as it came.</summary>
    public HttpClient Client { get; }

    public TestLog Log => _application!.Log;

    /// <summary>The unix socket of the application, or where none is.</summary>
    public string SocketPath => _folder.Path + "/app.sock";

    /// <summary>The one message of the application's server; it may be written when the client has its answer already.</summary>
    public async Task<string> FindLogAsync(LogLevel level, string eventName)
    {
        await WaitAsync(() => Log.Find(level, eventName).Any());
        return Assert.Single(Log.Find(level, eventName));
    }

    /// <summary>Fails if the web server does not log it.</summary>
    public async Task FindFrontEndLogAsync(string text)
    {
        await WaitAsync(() => _frontEnd.Log.Contains(text, StringComparison.Ordinal));
        Assert.Contains(text, _frontEnd.Log, StringComparison.Ordinal);
    }

    /// <param name="kind">The web server.</param>
    /// <param name="configure">Maps the endpoints of the application; without it, there is none.</param>
    /// <param name="configureServer">Sets options of the server.</param>
    /// <param name="mistakes">What the document says, and what the configuration says instead.</param>
    public static async Task<MistakenSite> StartAsync(
        FrontEndKind kind, Action<WebApplication>? configure, Action<FastCgiServerOptions>? configureServer, params (string Documented, string Mistaken)[] mistakes)
    {
        // HAProxy runs in a chroot, so that its document has TCP.
        var setup = new FrontEndSetup { Kind = kind, UsesUnixSocket = kind != FrontEndKind.HaProxy, IsDocumented = true };
        var folder = new ScratchFolder();
        TestApplication? application = null;
        try
        {
            if (configure is not null)
                application = await TestApplication.StartAsync(folder.GetAddress(setup.UsesUnixSocket), configure, configureServer);
            if (application?.EndPoint is UnixDomainSocketEndPoint socket)
                File.SetUnixFileMode(socket.ToString(), (UnixFileMode)0b110_110_110);
            return new MistakenSite(folder, application, await StartFrontEndAsync(setup, folder, application?.EndPoint, mistakes));
        }
        catch
        {
            if (application is not null)
                await application.DisposeAsync();
            folder.Dispose();
            throw;
        }
    }

    public async ValueTask DisposeAsync()
    {
        Client.Dispose();
        await _frontEnd.DisposeAsync();
        if (_application is not null)
            await _application.DisposeAsync();
        _folder.Dispose();
        _application?.Log.Verify();
    }

    private static async Task WaitAsync(Func<bool> condition)
    {
        using var timer = new PeriodicTimer(s_pollInterval);
        var end = DateTime.UtcNow + s_patience;
        while (!condition() && DateTime.UtcNow < end)
            await timer.WaitForNextTickAsync(CancellationToken.None);
    }

    private static async Task<FrontEnd> StartFrontEndAsync(
        FrontEndSetup setup, ScratchFolder folder, EndPoint? application, (string Documented, string Mistaken)[] mistakes)
    {
        // Nobody listens on a port that is reserved, nor on a socket that is not there.
        using var unused = new PortReservation();
        var endPoint = application ?? (setup.UsesUnixSocket ? new UnixDomainSocketEndPoint(folder.Path + "/app.sock") : unused.EndPoint);
        return await FrontEnd.StartAsync<FrontEnd>(new DocumentedFrontEnd(setup, folder.Path, endPoint, mistakes));
    }
}
