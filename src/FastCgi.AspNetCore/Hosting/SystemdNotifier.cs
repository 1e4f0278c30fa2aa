using FastCgi.AspNetCore.Hosting.Endpoints;

namespace FastCgi.AspNetCore.Hosting;

/// <summary>Notifies systemd (sd_notify(3)) that the server is ready, stopping, or alive for its watchdog.</summary>
internal sealed class SystemdNotifier(
    string path, TimeSpan? watchdogTimeout, ILogger log, TimeProvider time) : IDisposable
{
    private readonly UnixDomainSocketEndPoint _endPoint = EndpointAddress.ToUnixEndPoint(path);
    private readonly LogThrottle _failures = new(time);
    private IDisposable? _watchdog;

    public static SystemdNotifier? Create(Func<string, string?> getVariable, ILogger log, TimeProvider time)
    {
        var path = getVariable("NOTIFY_SOCKET");
        return path is { Length: > 1 } && path[0] is '/' or '@'
            ? new SystemdNotifier(path, GetWatchdogTimeout(getVariable), log, time)
            : null;
    }

    /// <summary>Reports that the server is ready, and starts watchdog notifications, two per timeout.</summary>
    public void Ready(int endpoints)
    {
        Send(string.Create(CultureInfo.InvariantCulture, $"READY=1\nSTATUS=Serving FastCGI on {endpoints} "
            + $"endpoint{(endpoints == 1 ? "" : "s")}."));
        if (watchdogTimeout is { } timeout)
        {
            const string Alive = "WATCHDOG=1";
            Send(Alive);
            _watchdog = ThreadRoot.Repeat(
                "FastCgi systemd", time, this, static notifier => notifier.Send(Alive), timeout / 2, log);
        }
    }

    public void Stopping() => Send("STOPPING=1\nSTATUS=Finishing active requests.");

    public void Dispose() => _watchdog?.Dispose();

    private static TimeSpan? GetWatchdogTimeout(Func<string, string?> getVariable)
    {
        var process = getVariable("WATCHDOG_PID");
        var isOurs = string.IsNullOrEmpty(process) || SocketActivation.IsFor(process, Environment.ProcessId);
        var interval = getVariable("WATCHDOG_USEC");
        return isOurs
            && long.TryParse(interval, NumberStyles.None, CultureInfo.InvariantCulture, out var microseconds)
            && microseconds > 0
            ? TimeSpan.FromMicroseconds(microseconds)
            : null;
    }

    /// <summary>Sends a state. Failures are logged but otherwise ignored: systemd may be absent.</summary>
    private void Send(string message)
    {
        try
        {
            // Do not wait for systemd.
            using var socket = new Socket(AddressFamily.Unix, SocketType.Dgram, ProtocolType.Unspecified);
            socket.Blocking = false;
            socket.SendTo(Encoding.UTF8.GetBytes(message), _endPoint);
        }
        catch (Exception exception)
        {
            if (_failures.TryAcquire(out _))
                log.NotifyFailed(exception);
        }
    }
}
