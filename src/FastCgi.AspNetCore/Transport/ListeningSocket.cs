using System.Net;
using System.Net.Sockets;
using FastCgi.AspNetCore.Diagnostics;
using FastCgi.AspNetCore.Linux;
using Microsoft.Extensions.Logging;

namespace FastCgi.AspNetCore.Transport;

/// <summary>A socket that listens, and what its listener does with it besides accepting.</summary>
/// <param name="socket">The socket.</param>
internal sealed class ListeningSocket(Socket socket)
{
    /// <summary>The socket.</summary>
    public Socket Socket => socket;

    /// <summary>What it is bound to.</summary>
    public required EndPoint EndPoint { get; init; }

    /// <summary>Who may connect to it.</summary>
    public PeerPolicy Peers { get; set; } = PeerPolicy.Everybody;

    /// <summary>Whether other processes may accept connections on it too.</summary>
    public bool IsShared { get; init; }

    /// <summary>Whether the next process is given it too, so that connections can wait for that one.</summary>
    public bool IsPassedOn { get; init; }

    /// <summary>Removes the file that it is found by.</summary>
    public Func<ValueTask> RemoveAsync { get; init; } = static () => ValueTask.CompletedTask;

    /// <summary>Lets no more connections come, if that is ours to decide. What fails of it is told; the rest is done.</summary>
    /// <returns>Whether to accept those that wait.</returns>
    public async ValueTask<bool> WithdrawAsync(ILogger log)
    {
        try
        {
            await RemoveAsync().ConfigureAwait(false);
        }
        catch (Exception exception)
        {
            log.SocketFileLeft(EndPoint.ToString()!, exception);
        }

        if (!IsShared && !await AcceptQueue.TryCloseAsync(socket).ConfigureAwait(false))
            log.AcceptQueueOpen(EndPoint);
        return !IsPassedOn;
    }
}
