namespace FastCgi.AspNetCore.Hosting;

/// <summary>Notifies systemd (sd_notify(3)) that the server is ready, stopping, or alive for its watchdog.</summary>
internal sealed class SystemdNotifier(
    string path, TimeSpan? watchdogTimeout, Func<bool> haveLoopsAnswered, ILogger log, TimeProvider time) : IDisposable
{
    private const string Alive = "WATCHDOG=1";

    // The longest time of a timer, 49 days. A longer timeout is none.
    private const long MaxMicroseconds = (uint.MaxValue - 1L) * 1_000;

    // Longer than systemd is ever busy, and shorter than its timeouts. A stop does not need the notification.
    private const int SendTimeout = 10_000;
    private const int StopSendTimeout = 100;

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
    public void Ready(int endpoints)
    {
        Send(string.Create(CultureInfo.InvariantCulture, $"READY=1\nSTATUS=Serving FastCGI on {endpoints} "
            + $"endpoint{(endpoints == 1 ? "" : "s")}."));
        if (watchdogTimeout is { } timeout)
        {
            haveLoopsAnswered();
            Send(Alive);
            _watchdog = ThreadRoot.Repeat(
                "FastCgi systemd", time, this, static notifier => notifier.Ping(), timeout / 2, log);
        }
    }

    public void Stopping() => Send("STOPPING=1\nSTATUS=Finishing active requests.", StopSendTimeout);

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
        var isOurs = string.IsNullOrEmpty(process) || SocketActivation.IsFor(process, Environment.ProcessId);
        var interval = getVariable("WATCHDOG_USEC");
        return isOurs
            && long.TryParse(interval, NumberStyles.None, CultureInfo.InvariantCulture, out var microseconds)
            && microseconds is > 0 and <= MaxMicroseconds
            ? TimeSpan.FromMicroseconds(microseconds)
            : null;
    }

    /// <summary>Sends a state. Failures are logged but otherwise ignored: systemd may be absent.</summary>
    private void Send(string message, int timeout = SendTimeout)
    {
        try
        {
            using var socket = new Socket(AddressFamily.Unix, SocketType.Dgram, ProtocolType.Unspecified);
            // Its queue may be full, at boot.
            socket.SendTimeout = timeout;
            socket.SendTo(Encoding.UTF8.GetBytes(message), EndpointAddress.ToUnixEndPoint(path));
        }
        catch (Exception exception)
        {
            if (_failures.TryAcquire(out _))
                log.NotifyFailed(exception);
        }
    }
}
