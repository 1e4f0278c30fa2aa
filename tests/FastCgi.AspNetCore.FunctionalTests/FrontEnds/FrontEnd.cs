using System.Globalization;
using System.Net;
using System.Net.Sockets;

namespace FastCgi.AspNetCore.FunctionalTests.FrontEnds;

/// <summary>
/// A real web server in front of the application: in the foreground, on a free port, with a configuration and a log of its own in a
/// folder of its own, and whatever the user's rights are.
/// </summary>
internal sealed class FrontEnd : IAsyncDisposable
{
    private static readonly TimeSpan s_startTimeout = TimeSpan.FromSeconds(20);
    private static readonly TimeSpan s_startPollInterval = TimeSpan.FromMilliseconds(10);

    private readonly FrontEndProgram _program;
    private readonly ConfigurationTemplate _template;
    private readonly string _folder;
    private readonly PortReservation _port = new();
    private ServerProcess? _process;

    private FrontEnd(FrontEndSetup setup, string folder, EndPoint application, string more)
    {
        _folder = folder;
        _program = FrontEndProgram.Of(setup.Kind);
        _template = new ConfigurationTemplate(setup, new Dictionary<string, string>
        {
            ["port"] = EndPoint.Port.ToString(CultureInfo.InvariantCulture),
            ["folder"] = folder,
            ["more"] = more,
            ["application"] = application.ToString()!,
            ["application-host"] = (application as IPEndPoint)?.Address.ToString() ?? "",
            ["application-port"] = (application as IPEndPoint)?.Port.ToString(CultureInfo.InvariantCulture) ?? "",
        });
    }

    /// <summary>Where it listens.</summary>
    public IPEndPoint EndPoint => _port.EndPoint;

    /// <summary>Everything that it logged.</summary>
    public string Log => (File.Exists(LogPath) ? File.ReadAllText(LogPath) : string.Empty) + _process?.Output;

    /// <summary>The lines of the log that say that something went wrong.</summary>
    public IEnumerable<string> Errors
        => Log.Split('\n').Where(line => _program.ErrorMarks.Any(mark => line.Contains(mark, StringComparison.Ordinal)));

    private string LogPath => Path.Combine(_folder, "error.log");

    /// <summary>Starts the web server that a setup names, and waits until it accepts connections.</summary>
    /// <param name="setup">The setup.</param>
    /// <param name="folder">Where its files are.</param>
    /// <param name="application">Where the application listens.</param>
    /// <param name="more">What the test adds to the configuration, where the template has a place for it.</param>
    public static async Task<FrontEnd> StartAsync(FrontEndSetup setup, string folder, EndPoint application, string more)
    {
        var frontEnd = new FrontEnd(setup, folder, application, more);
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
        if (_process is not null)
            await _process.DisposeAsync();
        _port.Dispose();
    }

    private async Task StartAsync()
    {
        foreach (var name in _program.Templates)
        {
            var text = await File.ReadAllTextAsync(Path.Combine(AppContext.BaseDirectory, "FrontEnds", name));
            await File.WriteAllTextAsync(Path.Combine(_folder, name), _template.FillIn(text));
        }

        _process = ServerProcess.Start(_program.Name, _program.Arguments.Select(_template.FillIn), _folder);
        await WaitUntilAcceptsAsync(_process);
    }

    private async Task WaitUntilAcceptsAsync(ServerProcess process)
    {
        using var timeout = new CancellationTokenSource(s_startTimeout);
        using var timer = new PeriodicTimer(s_startPollInterval);
        while (!await AcceptsAsync())
        {
            if (process.HasExited || timeout.IsCancellationRequested)
                throw new InvalidOperationException($"{_program.Name} did not start; ./tests/run.sh installs what is missing. It says:\n{Log}");
            await timer.WaitForNextTickAsync(CancellationToken.None);
        }
    }

    private async Task<bool> AcceptsAsync()
    {
        using var probe = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        try
        {
            await probe.ConnectAsync(EndPoint);
            return true;
        }
        catch (SocketException)
        {
            return false;
        }
    }
}
