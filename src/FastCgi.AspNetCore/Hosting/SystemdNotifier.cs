using System.Globalization;
using System.Net.Sockets;
using System.Text;
using FastCgi.AspNetCore.Diagnostics;
using Microsoft.Extensions.Logging;

namespace FastCgi.AspNetCore.Hosting;

/// <summary>Tells systemd how the server is (sd_notify(3)): ready, stopping, and alive where its watchdog asks.</summary>
internal sealed class SystemdNotifier : IDisposable
{
    private readonly UnixDomainSocketEndPoint _endPoint;
    private readonly TimeSpan? _watchdogTimeout;
    private readonly ILogger _log;
    private readonly TimeProvider _time;
    private readonly LogThrottle _failures;
    private ITimer? _watchdog;

    private SystemdNotifier(string path, TimeSpan? watchdogTimeout, ILogger log, TimeProvider time)
    {
        _endPoint = EndpointAddress.ToUnixEndPoint(path);
        _watchdogTimeout = watchdogTimeout;
        _log = log;
        _time = time;
        _failures = new LogThrottle(time);
    }

    /// <summary>Makes one, if the process was started by systemd, or by who does as it does.</summary>
    /// <param name="getVariable">Reads a variable of the environment.</param>
    /// <param name="log">Where a failure is told.</param>
    /// <param name="time">The clock.</param>
    /// <returns><see langword="null"/> if nobody wants to know.</returns>
    public static SystemdNotifier? Create(Func<string, string?> getVariable, ILogger log, TimeProvider time)
    {
        var path = getVariable("NOTIFY_SOCKET");
        return path is { Length: > 1 } && path[0] is '/' or '@' ? new SystemdNotifier(path, GetWatchdogTimeout(getVariable), log, time) : null;
    }

    /// <summary>Says that the server listens, and from now on that it is alive, twice in the time that systemd waits for it.</summary>
    public void Ready(int endpoints)
    {
        Send(string.Create(CultureInfo.InvariantCulture, $"READY=1\nSTATUS=Serving FastCGI on {endpoints} endpoint{(endpoints == 1 ? "" : "s")}."));
        if (_watchdogTimeout is { } timeout)
            _watchdog = ThreadRoot.StartTimer(_time, this, static notifier => notifier.Send("WATCHDOG=1"), TimeSpan.Zero, timeout / 2, _log);
    }

    /// <summary>Says that the server stops.</summary>
    public void Stopping() => Send("STOPPING=1\nSTATUS=Finishing the requests that run.");

    /// <inheritdoc/>
    public void Dispose() => _watchdog?.Dispose();

    private static TimeSpan? GetWatchdogTimeout(Func<string, string?> getVariable)
    {
        var process = getVariable("WATCHDOG_PID");
        var isOurs = string.IsNullOrEmpty(process) || SocketActivation.IsFor(process, Environment.ProcessId);
        return isOurs && long.TryParse(getVariable("WATCHDOG_USEC"), NumberStyles.None, CultureInfo.InvariantCulture, out var microseconds) && microseconds > 0
            ? TimeSpan.FromMicroseconds(microseconds)
            : null;
    }

    /// <summary>Sends a message. That systemd is not there does not keep the server from its work.</summary>
    private void Send(string message)
    {
        try
        {
            // Not to wait for a systemd that is busy, or gone.
            using var socket = new Socket(AddressFamily.Unix, SocketType.Dgram, ProtocolType.Unspecified) { Blocking = false };
            socket.SendTo(Encoding.UTF8.GetBytes(message), _endPoint);
        }
        catch (Exception exception)
        {
            if (_failures.TryAcquire(out _))
                _log.NotifyFailed(exception);
        }
    }
}
