namespace FastCgi.AspNetCore.Testing;

/// <summary>
/// A web server in the foreground, on a free port, with its configuration and <c>error.log</c> in its own folder.
/// </summary>
public sealed class WebServerProcess(string folder) : IAsyncDisposable
{
    private readonly PortReservation _port = new();
    private ServerProcess? _process;

    /// <summary>Where it listens for HTTP.</summary>
    public IPEndPoint EndPoint => _port.EndPoint;

    /// <summary>Everything that it logged.</summary>
    public string Log => (File.Exists(LogPath) ? File.ReadAllText(LogPath) : string.Empty) + _process?.Output;

    private string LogPath => Path.Combine(folder, "error.log");

    /// <summary>Starts it, and waits until it accepts connections.</summary>
    public async Task StartAsync(string program, IEnumerable<string> arguments)
    {
        var process = ServerProcess.Start(program, arguments, folder);
        _process = process;
        await Waiting.UntilAsync(
            AcceptsAsync, () => process.HasExited ? DescribeFailure(program) : null, $"{program} to listen");
    }

    public async ValueTask DisposeAsync()
    {
        if (_process is not null)
            await _process.DisposeAsync();
        _port.Dispose();
    }

    private string DescribeFailure(string program)
    {
        Programs.RequireNamedIn(Log);
        return $"{program} did not start:\n{Log}";
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
