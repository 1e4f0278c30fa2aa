using System.Net.Http.Headers;
using System.Security.Cryptography.X509Certificates;

namespace FastCgi.AspNetCore.ProcessTests.Starters;

/// <summary>A web server that starts the application, with one of the configurations in this folder.</summary>
internal sealed class SpawningServer : IAsyncDisposable
{
    private const UnixFileMode Everything = (UnixFileMode)0x1FF;

    private readonly PortReservation _port;
    private readonly Starter _starter;

    private SpawningServer(PortReservation port, Starter starter)
    {
        _port = port;
        _starter = starter;
    }

    /// <summary>Where it listens.</summary>
    public Uri Address => new($"http://{_port.EndPoint}");

    /// <param name="folder">Where its files are.</param>
    /// <param name="configuration">The configuration.</param>
    /// <param name="command">The program and its arguments; the current folder is that of its files.</param>
    public static async Task<SpawningServer> StartAsync(
        ScratchFolder folder, string configuration, params string[] command)
        => await StartAsync(folder, configuration, await ReadConfigurationAsync(configuration), command);

    public static async Task<SpawningServer> StartApacheWithDocumentAsync(ScratchFolder folder, string document)
    {
        const string Configuration = "fcgid.conf";
        var text = await ReadConfigurationAsync(Configuration);
        return await StartApacheAsync(folder, Configuration, text.Replace("{{document}}", document));
    }

    /// <summary>Starts Apache, whose directives define the application's whole environment.</summary>
    public static Task<SpawningServer> StartApacheAsync(ScratchFolder folder, string configuration, string text)
        => StartAsync(
            folder,
            configuration,
            text,
            [
                "apache2", "-d", folder.Path, "-f", configuration, "-c",
                "FcgidInitialEnv APPLICATION_ENGINE " + Starter.Engine, "-D", "FOREGROUND"]);

    public Task<string> GetAsync(string path) => _starter.GetAsync(new Uri(Address, path));

    /// <summary>Posts a body over TLS as soon as the server listens.</summary>
    public async Task<string> SendAsync(
        X509Certificate2 certificate, X509Certificate2? clientCertificate, string uri, byte[] body)
    {
        using var handler = new SocketsHttpHandler
        {
            ConnectCallback = async (_, cancellationToken) =>
            {
                var socket = new Socket(SocketType.Stream, ProtocolType.Tcp);
                await socket.ConnectAsync(_port.EndPoint, cancellationToken);
                return new NetworkStream(socket, ownsSocket: true);
            },
            SslOptions =
            {
                RemoteCertificateValidationCallback = (
                    _, shown, _, _) => shown?.GetCertHashString() == certificate.GetCertHashString(),
                ClientCertificates = clientCertificate is null ? null : [clientCertificate],
            },
        };
        using var client = new HttpClient(handler) { DefaultRequestVersion = HttpVersion.Version20 };
        client.DefaultRequestHeaders.Authorization = new AuthenticationHeaderValue("Bearer", "token");
        return await _starter.WhenListeningAsync(async () =>
        {
            using var response = await client.PostAsync(uri, new ByteArrayContent(body));
            return await response.Content.ReadAsStringAsync();
        });
    }

    public async ValueTask DisposeAsync()
    {
        await _starter.DisposeAsync();
        _port.Dispose();
    }

    private static Task<string> ReadConfigurationAsync(string name)
        => File.ReadAllTextAsync(Path.Combine(AppContext.BaseDirectory, "Starters", name));

    /// <param name="folder">Where its files are.</param>
    /// <param name="configuration">The name of the configuration.</param>
    /// <param name="text">The text of the configuration.</param>
    /// <param name="command">The program and its arguments; the current folder is that of its files.</param>
    private static async Task<SpawningServer> StartAsync(
        ScratchFolder folder, string configuration, string text, string[] command)
    {
        var port = new PortReservation();
        text = text.Replace("{{port}}", port.EndPoint.Port.ToString(CultureInfo.InvariantCulture))
            .Replace("{{folder}}", folder.Path)
            .Replace("{{dotnet}}", Starter.DotnetRoot);
        Starter.CopyApplication(folder);
        Directory.CreateDirectory(Path.Combine(folder.Path, "run"));
        File.SetUnixFileMode(Path.Combine(folder.Path, "run"), Everything);
        await File.WriteAllTextAsync(Path.Combine(folder.Path, configuration), text);
        Programs.Require(command[0]);
        if (command[0] == "apache2")
            Programs.Require("/usr/lib/apache2/modules/mod_fcgid.so");
        return new SpawningServer(port, Starter.Start(["env", "--chdir=" + folder.Path, .. command]));
    }
}
