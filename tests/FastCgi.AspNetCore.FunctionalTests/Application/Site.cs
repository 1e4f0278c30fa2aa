using System.Net.Sockets;

namespace FastCgi.AspNetCore.FunctionalTests.Application;

/// <summary>An application with a web server in front of it, and a client.</summary>
internal sealed class Site : IAsyncDisposable
{
    private const UnixFileMode SocketMode = UnixFileMode.UserRead | UnixFileMode.UserWrite
        | UnixFileMode.GroupRead | UnixFileMode.GroupWrite | UnixFileMode.OtherRead | UnixFileMode.OtherWrite;

    private readonly TestApplication _application;

    private Site(ScratchFolder folder, TestApplication application, FrontEnd frontEnd)
    {
        Folder = folder;
        _application = application;
        FrontEnd = frontEnd;
        Client = new HttpClient(new SocketsHttpHandler
        {
            AllowAutoRedirect = false,
            UseCookies = false,
            UseProxy = false,
            MaxConnectionsPerServer = int.MaxValue,
        })
        {
            BaseAddress = new Uri($"http://{frontEnd.EndPoint}"),
        };
    }

    /// <summary>Where its files are, the web server's log among them. Whoever has read that disposes of it.</summary>
    public ScratchFolder Folder { get; }

    public FrontEnd FrontEnd { get; }

    public TestLog Log => _application.Log;

    /// <summary>A client that shows each response as it came.</summary>
    public HttpClient Client { get; }

    /// <summary>The address of the site, without a slash at its end.</summary>
    public string Url => $"http://{FrontEnd.EndPoint}";

    public static async Task<Site> StartAsync(
        FrontEndSetup setup, Action<WebApplication> configure, Action<FastCgiServerOptions>? configureServer)
    {
        var folder = new ScratchFolder();
        TestApplication? application = null;
        try
        {
            application = await TestApplication.StartAsync(folder.GetAddress(setup.UsesUnixSocket), configure, configureServer);
            if (application.EndPoint is UnixDomainSocketEndPoint socket)
                File.SetUnixFileMode(socket.ToString(), SocketMode);
            return new Site(folder, application, await FrontEnd.StartAsync(setup, folder.Path, application.EndPoint));
        }
        catch
        {
            if (application is not null)
                await application.DisposeAsync();
            folder.Dispose();
            throw;
        }
    }

    /// <summary>A connection of a client that writes HTTP itself.</summary>
    public async Task<RawHttpClient> ConnectAsync() => await RawHttpClient.ConnectAsync(FrontEnd.EndPoint);

    public async ValueTask DisposeAsync()
    {
        Client.Dispose();
        await FrontEnd.DisposeAsync();
        await _application.DisposeAsync();
    }
}
