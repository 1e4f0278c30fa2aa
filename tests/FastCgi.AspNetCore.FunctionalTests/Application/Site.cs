using System.Net.Sockets;
using FastCgi.AspNetCore.FunctionalTests.FrontEnds;
using Microsoft.AspNetCore.Builder;

namespace FastCgi.AspNetCore.FunctionalTests.Application;

/// <summary>An application with a web server in front of it, and a client.</summary>
internal sealed class Site : IAsyncDisposable
{
    private const UnixFileMode FolderMode = UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute
        | UnixFileMode.GroupRead | UnixFileMode.GroupExecute | UnixFileMode.OtherRead | UnixFileMode.OtherExecute;

    private const UnixFileMode SocketMode = UnixFileMode.UserRead | UnixFileMode.UserWrite
        | UnixFileMode.GroupRead | UnixFileMode.GroupWrite | UnixFileMode.OtherRead | UnixFileMode.OtherWrite;

    private readonly DirectoryInfo _folder;
    private readonly TestApplication _application;

    private Site(DirectoryInfo folder, TestApplication application, FrontEnd frontEnd)
    {
        _folder = folder;
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

    /// <summary>A folder for the files of the test, which goes with the site.</summary>
    public string Folder => _folder.FullName;

    public FrontEnd FrontEnd { get; }

    public TestLog Log => _application.Log;

    /// <summary>A client that shows each response as it came.</summary>
    public HttpClient Client { get; }

    /// <summary>The address of the site, without a slash at its end.</summary>
    public string Url => $"http://{FrontEnd.EndPoint}";

    public static async Task<Site> StartAsync(
        FrontEndSetup setup, Action<WebApplication> configure, Action<FastCgiServerOptions>? configureServer)
    {
        var folder = Directory.CreateTempSubdirectory("fastcgi-");
        // The web server is started by this user; the processes that it starts may run as another.
        File.SetUnixFileMode(folder.FullName, FolderMode);

        var address = setup.UsesUnixSocket ? $"fastcgi://unix:{folder}/app.sock" : "fastcgi://127.0.0.1:0";
        var application = await TestApplication.StartAsync(address, configure, configureServer);
        if (application.EndPoint is UnixDomainSocketEndPoint socket)
            File.SetUnixFileMode(socket.ToString(), SocketMode);

        return new Site(folder, application, await FrontEnd.StartAsync(setup, folder.FullName, application.EndPoint));
    }

    /// <summary>A connection of a client that writes HTTP itself.</summary>
    public async Task<RawHttpClient> ConnectAsync() => await RawHttpClient.ConnectAsync(FrontEnd.EndPoint);

    public async ValueTask DisposeAsync()
    {
        Client.Dispose();
        await FrontEnd.DisposeAsync();
        await _application.DisposeAsync();
    }

    /// <summary>Removes what is left on disk, which the log is part of.</summary>
    public void DeleteFolder() => _folder.Delete(recursive: true);
}
