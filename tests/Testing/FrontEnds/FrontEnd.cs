namespace FastCgi.AspNetCore.Testing.FrontEnds;

/// <summary>
/// A real web server in front of the application: in the foreground, on a free port, with its own configuration and log
/// in a separate folder, for any user. The configurations are templates in this folder.
/// </summary>
public sealed class FrontEnd : IAsyncDisposable
{
    private readonly FrontEndProgram _program;
    private readonly WebServerProcess _process;

    private FrontEnd(FrontEndProgram program, string folder)
    {
        _program = program;
        _process = new WebServerProcess(folder);
    }

    /// <summary>Where it listens for HTTP.</summary>
    public IPEndPoint EndPoint => _process.EndPoint;

    /// <summary>Everything that it logged.</summary>
    public string Log => _process.Log;

    /// <summary>The lines of the log that report errors.</summary>
    public IEnumerable<string> Errors
        => Log.Split('\n').Where(line => _program.ErrorMarks.Any(line.Contains)
            // Caddy is stopped while it cleans its storage.
            && !line.Contains("storage_clean.lock"));

    /// <summary>Starts the web server that a setup names, and waits until it accepts connections.</summary>
    /// <param name="more">What is added to the configuration, where the template has a place for it.</param>
    public static Task<FrontEnd> StartAsync(FrontEndSetup setup, string folder, EndPoint application, string more)
        => setup.IsDocumented
            ? DocumentedFrontEnd.StartAsync(
                setup, folder, application, DocumentedFrontEnd.GetAddition(setup.Kind, more))
            : StartAsync(
                FrontEndProgram.Of(setup.Kind),
                setup,
                folder,
                ("more", more),
                ("application", $"{application}"),
                ("application-host", $"{(application as IPEndPoint)?.Address}"),
                ("application-port", $"{(application as IPEndPoint)?.Port}"));

    /// <summary>Starts a web server, and waits until it accepts connections.</summary>
    /// <param name="values">The values in the templates, other than the folder and the port.</param>
    public static async Task<FrontEnd> StartAsync(
        FrontEndProgram program, FrontEndSetup setup, string folder, params (string Name, string Value)[] values)
    {
        var frontEnd = new FrontEnd(program, folder);
        try
        {
            // The last two may be in the others.
            (string, string)[] all = [.. values, ("folder", folder), ("port", $"{frontEnd.EndPoint.Port}")];
            foreach (var template in program.Templates)
            {
                var text = await File.ReadAllTextAsync(Path.Combine(AppContext.BaseDirectory, "FrontEnds", template));
                await File.WriteAllTextAsync(
                    Path.Combine(folder, template), ConfigurationTemplate.FillIn(text, setup, all));
            }

            await frontEnd._process.StartAsync(
                program.Name, program.Arguments.Select(argument => ConfigurationTemplate.FillIn(argument, setup, all)));
            return frontEnd;
        }
        catch
        {
            await frontEnd.DisposeAsync();
            throw;
        }
    }

    public ValueTask DisposeAsync() => _process.DisposeAsync();
}
