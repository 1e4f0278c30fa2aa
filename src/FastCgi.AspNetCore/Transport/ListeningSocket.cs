namespace FastCgi.AspNetCore.Transport;

internal sealed class ListeningSocket(Socket socket)
{
    /// <summary>More than any accept queue holds. New connections keep coming if the queue cannot be closed.</summary>
    public const int MaxRest = 65_536;

    public Socket Socket => socket;
    public required EndPoint EndPoint { get; init; }
    public PeerPolicy Peers { get; set; } = PeerPolicy.Everybody;

    /// <summary>Whether other processes may accept connections from it too.</summary>
    public bool IsShared { get; init; }

    /// <summary>Whether the next process gets it too, so that connections can wait for that process.</summary>
    public bool IsPassedOn { get; init; }

    /// <summary>Refuses new connections, unless other processes accept them. Failures are logged and skipped.</summary>
    /// <returns>Whether to accept those that wait.</returns>
    public bool Withdraw(ILogger log)
    {
        if (!IsShared && !AcceptQueue.TryClose(socket))
            log.AcceptQueueOpen(EndPoint);
        return !IsPassedOn;
    }
}
