namespace FastCgi.AspNetCore.Testing.FrontEnds;

/// <summary>
/// A real web server in front of the application: in the foreground, on a free port, with its own configuration and log
/// in a separate folder, for any user. The configurations are templates in this folder.
/// </summary>
public abstract class FrontEnd : IAsyncDisposable
{
    private readonly WebServerProcess _process;

    protected FrontEnd(FrontEndSetup setup, string folder, EndPoint application)
    {
        Setup = setup;
        Folder = folder;
        _process = new WebServerProcess(folder);
        Application = application;
    }

    /// <summary>Where it listens for HTTP.</summary>
    public IPEndPoint EndPoint => _process.EndPoint;

    /// <summary>Everything that it logged.</summary>
    public string Log => _process.Log;

    /// <summary>The lines of the log that report errors.</summary>
    public IEnumerable<string> Errors
        => Log.Split('\n').Where(line => ErrorMarks.Any(mark => line.Contains(mark, StringComparison.Ordinal))
            // Caddy is stopped while it cleans its storage.
            && !line.Contains("storage_clean.lock", StringComparison.Ordinal));

    protected FrontEndSetup Setup { get; }

    protected string Folder { get; }

    protected EndPoint Application { get; }

    protected abstract (string Program, string[] Arguments) Command { get; }

    /// <summary>The templates that are written to the folder.</summary>
    protected abstract string[] Templates { get; }

    /// <summary>The values in the templates, other than the port.</summary>
    protected abstract IReadOnlyDictionary<string, string> Values { get; }

    /// <summary>Text that only such lines of its log contain.</summary>
    protected abstract string[] ErrorMarks { get; }

    /// <summary>Starts the web server that a setup names, and waits until it accepts connections.</summary>
    public static Task<FrontEnd> StartAsync(FrontEndSetup setup, string folder, EndPoint application, string more)
        => setup.IsDocumented
            ? StartAsync<FrontEnd>(
                new DocumentedFrontEnd(setup, folder, application, DocumentedFrontEnd.GetAddition(setup.Kind, more)))
            : StartAsync<FrontEnd>(new ConfiguredFrontEnd(setup, folder, application, more));

    /// <summary>Starts a web server, and waits until it accepts connections.</summary>
    public static async Task<TFrontEnd> StartAsync<TFrontEnd>(TFrontEnd frontEnd)
        where TFrontEnd : FrontEnd
    {
        try
        {
            await frontEnd.StartAsync();
            return frontEnd;
        }
        catch
        {
            await frontEnd.DisposeAsync();
            throw;
        }
    }

    public async ValueTask DisposeAsync()
    {
        await _process.DisposeAsync();
        GC.SuppressFinalize(this);
    }

    private async Task StartAsync()
    {
        var values = new Dictionary<string, string>(Values)
        {
            ["port"] = EndPoint.Port.ToString(CultureInfo.InvariantCulture),
        };
        foreach (var template in Templates)
        {
            var text = await File.ReadAllTextAsync(Path.Combine(AppContext.BaseDirectory, "FrontEnds", template));
            await File.WriteAllTextAsync(
                Path.Combine(Folder, template), ConfigurationTemplate.FillIn(text, Setup, values));
        }

        var (program, arguments) = Command;
        await _process.StartAsync(program, arguments);
    }
}
