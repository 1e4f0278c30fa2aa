namespace FastCgi.AspNetCore.Hosting;

/// <summary>Notifies systemd (sd_notify(3)) that the server is ready, stopping, or alive for its watchdog.</summary>
internal sealed class SystemdNotifier(
    string path, TimeSpan? watchdogTimeout, Func<bool> haveLoopsAnswered, ILogger log, TimeProvider time) : IDisposable
{
    private const string Alive = "WATCHDOG=1";

    // The longest time of a timer, 49 days. A longer timeout is none.
    private const long MaxMicroseconds = (uint.MaxValue - 1L) * 1_000;

    // Ten seconds: longer than systemd is ever busy, and shorter than its timeouts.
    private const int SendTimeout = 100;
    private const int MaxSends = 100;

    private readonly LogThrottle _failures = new(time);
    private readonly LogThrottle _silences = new(time);
    private IDisposable? _watchdog;

    /// <param name="haveLoopsAnswered">Whether each loop has run since the last call, which also asks them.</param>
    public static SystemdNotifier? Create(
        Func<string, string?> getVariable, Func<bool> haveLoopsAnswered, ILogger log, TimeProvider time)
    {
        var path = getVariable("NOTIFY_SOCKET");
        return path is { Length: > 1 } && path[0] is '/' or '@'
            ? new SystemdNotifier(path, GetWatchdogTimeout(getVariable), haveLoopsAnswered, log, time)
            : null;
    }

    /// <summary>Reports that the server is ready, and starts watchdog notifications, two per timeout.</summary>
    public void Ready(int endpoints, CancellationToken cancellationToken)
    {
        var status = string.Create(
            CultureInfo.InvariantCulture, $"Serving FastCGI on {endpoints} endpoint{(endpoints == 1 ? "" : "s")}.");
        Send("READY=1\nSTATUS=" + status, cancellationToken);
        if (watchdogTimeout is { } timeout)
        {
            haveLoopsAnswered();
            Send(Alive, cancellationToken);
            _watchdog = ThreadRoot.Repeat(
                "FastCgi systemd", time, this, static notifier => notifier.Ping(), timeout / 2, log);
        }
    }

    // Not needed for a stop, which does not wait for it.
    public void Stopping()
        => Send("STOPPING=1\nSTATUS=Finishing active requests.", new CancellationToken(canceled: true));

    public void Dispose() => _watchdog?.Dispose();

    private void Ping()
    {
        if (haveLoopsAnswered())
            Send(Alive);
        else if (_silences.TryAcquire(out _))
            ThreadRoot.Report(log, log => log.LoopNotAnswering(watchdogTimeout.GetValueOrDefault() / 2));
    }

    private static TimeSpan? GetWatchdogTimeout(Func<string, string?> getVariable)
    {
        var process = getVariable("WATCHDOG_PID");
        var isOurs = string.IsNullOrEmpty(process) || InheritedSockets.IsFor(process, Environment.ProcessId);
        var interval = getVariable("WATCHDOG_USEC");
        return isOurs
            && long.TryParse(interval, NumberStyles.None, CultureInfo.InvariantCulture, out var microseconds)
            && microseconds is > 0 and <= MaxMicroseconds
            ? TimeSpan.FromMicroseconds(microseconds)
            : null;
    }

    /// <summary>Sends a state. Failures are logged but otherwise ignored: systemd may be absent.</summary>
    /// <param name="cancellationToken">Ends the attempts while the queue of systemd is full, as at boot.</param>
    private void Send(string message, CancellationToken cancellationToken = default)
    {
        try
        {
            using var socket = new Socket(AddressFamily.Unix, SocketType.Dgram, ProtocolType.Unspecified);
            socket.SendTimeout = SendTimeout;
            var sends = 1;
            while (!TrySend(socket, message, isLast: sends == MaxSends || cancellationToken.IsCancellationRequested))
                sends++;
        }
        catch (Exception exception)
        {
            if (_failures.TryAcquire(out _))
                ThreadRoot.Report(log, log => log.NotifyFailed(exception));
        }
    }

    private bool TrySend(Socket socket, string message, bool isLast)
    {
        try
        {
            socket.SendTo(Encoding.UTF8.GetBytes(message), EndpointAddress.ToUnixEndPoint(path));
            return true;
        }
        catch (SocketException exception)
            when (!isLast && exception.SocketErrorCode is (SocketError.WouldBlock or SocketError.TimedOut))
        {
            return false;
        }
    }
}
