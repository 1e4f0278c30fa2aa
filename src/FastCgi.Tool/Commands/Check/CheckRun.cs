namespace FastCgi.Tool.Commands.Check;

/// <summary>Runs the script of a check. Its steps share a connection, until they close it.</summary>
internal sealed class CheckRun(CheckedServer server) : IDisposable
{
    private readonly List<CheckPeer> _peers = [];
    private Task _sending = Task.CompletedTask;
    private long _start = Stopwatch.GetTimestamp();

    public CheckedServer Server => server;

    public CheckPeer? Current { get; private set; }

    /// <summary>What the steps have observed.</summary>
    public string Detail { get; set; } = "";

    public async Task<(string Verdict, string Detail)> RunAsync(Step[] steps)
    {
        _start = Stopwatch.GetTimestamp();
        try
        {
            await ExecuteAsync(steps);
            return ("pass", Detail);
        }
        catch (CheckException exception)
        {
            return (exception.Verdict, exception.Message);
        }
        catch (SocketException exception)
        {
            return ("fail", exception.Message);
        }
        finally
        {
            await _sending;
        }
    }

    public async Task ExecuteAsync(Step[] steps)
    {
        foreach (var step in steps)
            Detail = await step(this) ?? Detail;
    }

    public async Task<CheckPeer> GetPeerAsync() => Current ??= await ConnectAsync();

    /// <summary>Connects and sends. A check takes at most three times the timeout of a response.</summary>
    public async Task<CheckPeer> ConnectAsync(params byte[][] parts)
    {
        var peer = await CheckPeer.ConnectAsync(server.Address, () => TimeSpan.FromTicks(Math.Clamp(
            ((3 * server.Timeout) - Stopwatch.GetElapsedTime(_start)).Ticks, 0, server.Timeout.Ticks)));
        _peers.Add(peer);
        await peer.SendAsync(parts);
        return peer;
    }

    /// <summary>Sends while the next steps read: the server may respond before it has read everything.</summary>
    public async Task<string?> StartSendingAsync(byte[] bytes)
    {
        _sending = (await GetPeerAsync()).SendAsync(bytes);
        return null;
    }

    public void Close()
    {
        Current?.Dispose();
        Current = null;
    }

    /// <summary>Closes all connections, and grants the time of a new check.</summary>
    public void StartAgain()
    {
        Dispose();
        _start = Stopwatch.GetTimestamp();
    }

    public async Task<CheckResponse> AskAsync(params byte[][] parts)
    {
        using var peer = await ConnectAsync(parts);
        return await peer.ReadResponseAsync();
    }

    public async Task<bool> IsAliveAsync() => (await AskAsync(server.Get(keepsConnection: false))).IsWhole;

    /// <summary>Expects that the server still serves others. What else it does is unspecified.</summary>
    public async Task<string> SurviveAsync(string what)
        => await IsAliveAsync()
            ? what
            : throw Fail($"{what}; then a plain GET gets no response".TrimStart(';', ' '));

    /// <returns><see langword="null"/> if the server does not announce the value.</returns>
    public async Task<string?> GetValueAsync(string name)
    {
        using var peer = await ConnectAsync();
        return (await peer.ReadValuesAsync(name)).Values?.GetValueOrDefault(name);
    }

    public void Dispose() => _peers.ForEach(static peer => peer.Dispose());
}
