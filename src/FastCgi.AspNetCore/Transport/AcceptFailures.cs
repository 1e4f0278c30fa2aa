using System.Globalization;
using System.Net;
using System.Net.Sockets;
using FastCgi.AspNetCore.Diagnostics;
using FastCgi.AspNetCore.Linux;
using FastCgi.AspNetCore.Requests;
using Microsoft.Extensions.Logging;

namespace FastCgi.AspNetCore.Transport;

/// <summary>
/// What a listener does with connections that it cannot take, and tells of them: a message of each kind once a minute. Log providers
/// are called on the thread pool, because the thread that accepts may be a loop's, on which others depend.
/// </summary>
internal sealed class AcceptFailures(Socket socket, EndPoint endPoint, ServerContext server) : IDisposable
{
    // Connections closed at once when there are no descriptors; more have their turn after the delay.
    private const int MaxClosedInARow = 64;

    private readonly DescriptorReserve? _reserve = OperatingSystem.IsLinux() ? new() : null;
    private readonly LogThrottle _lost = new(server.Time);
    private readonly LogThrottle _refused = new(server.Time);
    private readonly LogThrottle _failed = new(server.Time);
    private readonly LogThrottle _startsFailed = new(server.Time);
    private readonly LogThrottle _watchesRefused = new(server.Time);
    private long _closed;

    /// <summary>How long to wait for descriptors or memory to come back before the next attempt.</summary>
    public static TimeSpan RetryDelay { get; } = TimeSpan.FromMilliseconds(100);

    /// <summary>A connection was lost before it was accepted. That says nothing about the next.</summary>
    public void OnLost(SocketException exception)
    {
        if (_lost.TryAcquire(out var count))
            Report(log => log.AcceptFailed(endPoint, count, exception));
    }

    /// <summary>A peer connected that may not.</summary>
    public void OnPeerRefused(PeerPolicy policy, Socket connection)
    {
        server.Counters.OnPeerRefused();
        if (!_refused.TryAcquire(out var count))
            return;

        // Now, because the connection is about to be closed.
        var (peer, setting) = (PeerPolicy.Describe(connection), policy.GetSetting(isUnix: connection.AddressFamily == AddressFamily.Unix));
        Report(log => log.PeerRefused(endPoint, count, peer, setting));
    }

    /// <summary>The server failed with a connection that it had accepted.</summary>
    public void OnStartFailed(Exception exception)
    {
        if (_startsFailed.TryAcquire(out _))
            Report(log => log.ConnectionStartFailed(endPoint, exception));
    }

    /// <summary>The system does not let us wait for a connection that was accepted, so that it was closed.</summary>
    public void OnWatchRefused(int error)
    {
        if (_watchesRefused.TryAcquire(out var count))
            Report(log => log.ConnectionNotWatched(endPoint, count, Libc.GetMessage(error), AdviseOnWatch(error)));
    }

    /// <summary>Whether a connection that was accepted has one of the last descriptors, and is to be closed as if there were none.</summary>
    public bool IsBeyondLimit(nint descriptor)
    {
        if (!OperatingSystem.IsLinux() || descriptor < server.MaxConnections)
            return false;

        OnClosed(1);
        return true;
    }

    /// <summary>A connection that <see cref="IsBeyondLimit"/> was closed. That makes room for the next, so that there is nothing to wait for.</summary>
    public void OnBeyondLimit() => ReportFailed(Libc.ErrorTooManyOpenFiles);

    /// <summary>
    /// The system cannot give us connections; the listener waits for <see cref="RetryDelay"/> now. Without descriptors, those that wait
    /// are closed, so that the web server learns of it at once.
    /// </summary>
    public void OnFailed(int error)
    {
        if (IsOutOfDescriptors(error) && _reserve is not null)
            OnClosed(CloseWaiting(_reserve));
        ReportFailed(error);
    }

    /// <inheritdoc/>
    public void Dispose() => _reserve?.Dispose();

    private void OnClosed(int count)
    {
        server.Counters.OnConnectionsRejected(count);
        Interlocked.Add(ref _closed, count);
    }

    private void ReportFailed(int error)
    {
        if (!_failed.TryAcquire(out var attempts))
            return;

        var closed = Interlocked.Exchange(ref _closed, 0);
        Report(log => log.AcceptOutOfResources(endPoint, Libc.GetMessage(error), attempts, closed, Advise(error)));
    }

    private void Report(Action<ILogger> report) => ThreadRoot.Report(server.Log, report);

    private static bool IsOutOfDescriptors(int error) => error is Libc.ErrorTooManyOpenFiles or Libc.ErrorTooManyOpenFilesInSystem;

    private string Advise(int error) => error switch
    {
        Libc.ErrorTooManyOpenFiles => AdviseOnDescriptors(server.GetMaxDescriptors()),
        Libc.ErrorTooManyOpenFilesInSystem => "The system has no descriptor left for any process: raise fs.file-max (sysctl).",
        Libc.ErrorNoBuffers or Libc.ErrorOutOfMemory => "The system has no memory left for sockets: raise the memory of the machine or of the container (MemoryMax=), or net.ipv4.tcp_mem.",
        _ => "See accept(2) for the error; a sandbox (SystemCallFilter=, seccomp) may forbid the call.",
    };

    private static string AdviseOnDescriptors(long limit) => string.Create(
        CultureInfo.InvariantCulture,
        $"The process may have {limit} descriptors, {DescriptorHeadroom.CountForConnections(limit)} of them for connections: raise LimitNOFILE= of the systemd unit, or ulimit -n.");

    private static string AdviseOnWatch(int error) => error == Libc.ErrorNoSpace
        ? "The user has as many connections in epoll as the system allows: raise fs.epoll.max_user_watches (sysctl)."
        : "See epoll_ctl(2) for the error; without memory, raise that of the machine or of the container (MemoryMax=).";

    private int CloseWaiting(DescriptorReserve reserve)
    {
        var count = 0;
        while (count < MaxClosedInARow && reserve.TryAcceptAndClose(socket.SafeHandle))
            count++;
        return count;
    }
}
