namespace FastCgi.AspNetCore.FrontEndTests.Documents;

/// <summary>
/// Applications behind a web server whose whole configuration is a block of a document, and a client. Disposing of it
/// fails the test if an application logged an unexpected error.
/// </summary>
internal sealed class ConfiguredSite : IAsyncDisposable
{
    private readonly ScratchFolder _folder = new();
    private readonly WebServerProcess _server;
    private readonly List<TestApplication> _applications = [];

    public ConfiguredSite()
    {
        _server = new WebServerProcess(Folder);
        Client = CreateClient("127.0.0.1");
    }

    /// <summary>Where the web server listens.</summary>
    public string Address => _server.EndPoint.ToString();

    public int Port => _server.EndPoint.Port;

    /// <summary>The web server's log: errors, and requests if the configuration logs them in this file.</summary>
    public string FrontEndLog
        => _server.Log + (File.Exists(_folder.GetPath("app.log")) ? File.ReadAllText(_folder.GetPath("app.log")) : "");

    /// <summary>The log of the first application.</summary>
    public CollectedLogs Log => _applications[0].Log;

    /// <summary>Where files of the test are.</summary>
    public string Folder => _folder.Path;

    /// <summary>A client that does not process responses.</summary>
    public HttpClient Client { get; }

    public async Task<TestApplication> StartApplicationAsync(
        string address,
        Action<WebApplication> configure,
        Action<FastCgiServerOptions>? configureServer = null,
        Action<WebApplicationBuilder>? configureBuilder = null)
    {
        var application = await TestApplication.StartAsync(address, configure, configureServer, configureBuilder);
        _applications.Add(application);
        return application;
    }

    /// <summary>A client that does not process responses, with another name of this machine.</summary>
    public HttpClient CreateClient(string host = "localhost")
        => new(new SocketsHttpHandler { AllowAutoRedirect = false, UseProxy = false })
        {
            BaseAddress = new Uri($"http://{host}:{Port}"),
        };

    /// <summary>A socket in the folder, open to everyone, because the web server may run as another user.</summary>
    public string GetUnixAddress(string name) => $"fastcgi://unix:{Folder}/{name}?mode=0666";

    /// <summary>Writes the configuration and starts the web server with it.</summary>
    /// <param name="command">The program and its arguments; the path of the configuration is added at the end.</param>
    /// <param name="replacements">
    /// Text in the configuration, and its replacement. The documented address of the server is 127.0.0.1:8080.
    /// </param>
    public async Task StartServerAsync(
        string document, string name, string[] command, params (string Documented, string Actual)[] replacements)
        => await StartServerAsync(name, await DocumentBlock.ReadAsync(document, name, replacements), command);

    /// <summary>Writes a configuration and starts the web server with it.</summary>
    /// <param name="command">The program and its arguments; the path of the configuration is added at the end.</param>
    public async Task StartServerAsync(string name, string text, string[] command)
    {
        var configuration = Path.Combine(Folder, name);
        await File.WriteAllTextAsync(configuration, text + '\n');
        await _server.StartAsync(command[0], [.. command[1..], configuration]);
    }

    public async ValueTask DisposeAsync()
    {
        Client.Dispose();
        await _server.DisposeAsync();
        foreach (var application in _applications)
            await application.DisposeAsync();
        _folder.Dispose();
        foreach (var application in _applications)
            application.Log.Verify();
    }
}
