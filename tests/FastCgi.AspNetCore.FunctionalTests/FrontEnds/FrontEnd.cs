using System.Globalization;
using System.Net;
using System.Net.Sockets;

namespace FastCgi.AspNetCore.FunctionalTests.FrontEnds;

/// <summary>
/// A real web server in front of the application: in the foreground, on a free port, with a configuration and a log of its own in a
/// folder of its own, and whatever the user's rights are. The configurations are templates beside this file.
/// </summary>
internal abstract class FrontEnd : IAsyncDisposable
{
    private static readonly TimeSpan s_startTimeout = TimeSpan.FromSeconds(20);
    private static readonly TimeSpan s_startPollInterval = TimeSpan.FromMilliseconds(10);

    private readonly PortReservation _port = new();
    private ServerProcess? _process;

    /// <param name="setup">How it is configured.</param>
    /// <param name="folder">The folder that is its own.</param>
    /// <param name="application">Where the application listens.</param>
    protected FrontEnd(FrontEndSetup setup, string folder, EndPoint application)
    {
        Setup = setup;
        Folder = folder;
        Application = application;
    }

    /// <summary>Where it listens for HTTP.</summary>
    public IPEndPoint EndPoint => _port.EndPoint;

    /// <summary>Everything that it logged.</summary>
    public string Log => (File.Exists(LogPath) ? File.ReadAllText(LogPath) : string.Empty) + _process?.Output;

    /// <summary>The lines of the log that say that something went wrong.</summary>
    public IEnumerable<string> Errors => Log.Split('\n').Where(line => ErrorMarks.Any(mark => line.Contains(mark, StringComparison.Ordinal)));

    protected FrontEndSetup Setup { get; }

    protected string Folder { get; }

    protected EndPoint Application { get; }

    /// <summary>The program and its arguments.</summary>
    protected abstract (string Program, string[] Arguments) Command { get; }

    /// <summary>The templates that are written to the folder.</summary>
    protected abstract string[] Templates { get; }

    /// <summary>What stands in the templates between double braces, besides the port.</summary>
    protected abstract IReadOnlyDictionary<string, string> Values { get; }

    /// <summary>What is in such a line of its log, and in no other.</summary>
    protected abstract string[] ErrorMarks { get; }

    private string LogPath => Path.Combine(Folder, "error.log");

    /// <summary>Starts the web server that a setup names, and waits until it accepts connections.</summary>
    public static Task<FrontEnd> StartAsync(FrontEndSetup setup, string folder, EndPoint application, string more)
        => StartAsync<FrontEnd>(new ConfiguredFrontEnd(setup, folder, application, more));

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
        if (_process is not null)
            await _process.DisposeAsync();
        _port.Dispose();
    }

    private async Task StartAsync()
    {
        var values = new Dictionary<string, string>(Values) { ["port"] = EndPoint.Port.ToString(CultureInfo.InvariantCulture) };
        foreach (var template in Templates)
        {
            var text = await File.ReadAllTextAsync(Path.Combine(AppContext.BaseDirectory, "FrontEnds", template));
            await File.WriteAllTextAsync(Path.Combine(Folder, template), ConfigurationTemplate.FillIn(text, Setup, values));
        }

        var (program, arguments) = Command;
        _process = ServerProcess.Start(program, arguments, Folder);
        await WaitUntilAcceptsAsync(_process);
    }

    private async Task WaitUntilAcceptsAsync(ServerProcess process)
    {
        using var timeout = new CancellationTokenSource(s_startTimeout);
        using var timer = new PeriodicTimer(s_startPollInterval);
        while (!await AcceptsAsync())
        {
            if (process.HasExited || timeout.IsCancellationRequested)
                throw new InvalidOperationException($"{Command.Program} did not start; ./tests/run.sh installs what is missing. It says:\n{Log}");
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
