namespace FastCgi.AspNetCore.Transport;

internal sealed class ListeningSocket(Socket socket)
{
    /// <summary>More connections than any accept queue holds: if the queue cannot be closed, others follow.</summary>
    public const int MaxRest = 65_536;

    public Socket Socket => socket;
    public required EndPoint EndPoint { get; init; }
    public PeerPolicy Peers { get; set; } = PeerPolicy.Everybody;

    /// <summary>Whether other processes may also accept connections from the socket.</summary>
    public bool IsShared { get; init; }

    /// <summary>Whether the next process inherits the socket, so that connections can wait for it.</summary>
    public bool IsPassedOn { get; init; }

    /// <summary>Refuses new connections, unless other processes accept them. Failures are logged and skipped.</summary>
    /// <returns>Whether to accept the queued connections.</returns>
    public bool Withdraw(ILogger log)
    {
        if (!IsShared && !ListenerOptions.TryCloseQueue(socket))
            ThreadRoot.Report(log, log => log.AcceptQueueOpen(EndPoint));
        return !IsPassedOn;
    }
}
