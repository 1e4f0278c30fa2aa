using System.Security.Cryptography.X509Certificates;

namespace FastCgi.AspNetCore.FrontEndTests.Application;

/// <summary>An application with a web server in front of it, and a client.</summary>
internal sealed class Site : IAsyncDisposable
{
    private readonly TestApplication _application;

    private Site(FrontEndSetup setup, ScratchFolder folder, TestApplication application, FrontEnd frontEnd)
    {
        Folder = folder;
        _application = application;
        FrontEnd = frontEnd;
        var host = setup.UsesTls ? "localhost" : "127.0.0.1";
        if (setup.IsDocumented)
            host = FrontEndDocument.HostName;
        Url = $"{(setup.UsesTls ? "https" : "http")}://{host}:{frontEnd.EndPoint.Port}";
        Client = CreateClient(clientCertificate: null);
    }

    /// <summary>
    /// The folder with its files, including the web server's log. The caller disposes of it after reading the log.
    /// </summary>
    public ScratchFolder Folder { get; }

    public FrontEnd FrontEnd { get; }

    public CollectedLogs Log => _application.Log;

    /// <summary>A client that does not process responses.</summary>
    public HttpClient Client { get; }

    /// <summary>The address of the site, without a slash at its end.</summary>
    public string Url { get; }

    public static async Task<Site> StartAsync(
        FrontEndSetup setup,
        Action<WebApplication> configure,
        Action<FastCgiServerOptions>? configureServer,
        Action<WebApplicationBuilder>? configureBuilder,
        string more)
    {
        var folder = new ScratchFolder();
        TestApplication? application = null;
        try
        {
            application = await TestApplication.StartAsync(
                folder.GetAddress(setup.UsesUnixSocket), configure, configureServer, configureBuilder);
            if (setup.UsesTls)
                await TestCertificates.WriteAsync(folder.Path);
            return new Site(
                setup, folder, application, await FrontEnd.StartAsync(setup, folder.Path, application.EndPoint, more));
        }
        catch
        {
            if (application is not null)
                await application.DisposeAsync();
            folder.Dispose();
            throw;
        }
    }

    /// <summary>A client that does not process responses. It uses HTTP/2 over TLS, and HTTP/1.1 otherwise.</summary>
    /// <param name="clientCertificate">What it shows if it is asked for a certificate.</param>
    /// <param name="address">The loopback address that it comes from, if that is not the usual one.</param>
    public HttpClient CreateClient(X509Certificate2? clientCertificate, IPAddress? address = null)
        => CreateClient(Url, FrontEnd.EndPoint, clientCertificate, address);

    public static HttpClient CreateClient(
        string url, IPEndPoint endPoint, X509Certificate2? clientCertificate, IPAddress? address)
    {
        var handler = new SocketsHttpHandler
        {
            ConnectCallback = (_, cancellationToken) => ConnectAsync(
                endPoint, address ?? IPAddress.Loopback, cancellationToken),
            AllowAutoRedirect = false,
            UseCookies = false,
            UseProxy = false,
            MaxConnectionsPerServer = int.MaxValue,
            SslOptions =
            {
                RemoteCertificateValidationCallback = static (
                    _, certificate, _, _) => TestCertificates.IsServer(certificate),
                ClientCertificates = clientCertificate is null ? null : [clientCertificate],
            },
        };
        return new HttpClient(handler)
        {
            BaseAddress = new Uri(url),
            DefaultRequestVersion = url.StartsWith("https", StringComparison.Ordinal)
                ? HttpVersion.Version20
                : HttpVersion.Version11,
            DefaultVersionPolicy = HttpVersionPolicy.RequestVersionExact,
        };
    }

    /// <summary>Runs curl.</summary>
    /// <returns>Its exit code, and what it wrote.</returns>
    public Task<(int ExitCode, string Output)> CurlAsync(string path, params string[] options)
        => ExternalProgram.RunAsync("curl", ["-sS", "--insecure", .. options, Url + path]);

    public async Task<RawHttpClient> ConnectAsync() => await RawHttpClient.ConnectAsync(FrontEnd.EndPoint);

    public async ValueTask DisposeAsync()
    {
        Client.Dispose();
        await FrontEnd.DisposeAsync();
        await _application.DisposeAsync();
    }

    private static async ValueTask<Stream> ConnectAsync(
        IPEndPoint endPoint, IPAddress address, CancellationToken cancellationToken)
    {
        var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        socket.Bind(new IPEndPoint(address, 0));
        await socket.ConnectAsync(endPoint, cancellationToken);
        return new NetworkStream(socket, ownsSocket: true);
    }
}
