using System.Net;
using System.Net.Sockets;

namespace FastCgi.AspNetCore.Transport;

/// <summary>A socket that listens, and what its listener does with it besides accepting.</summary>
/// <param name="socket">The socket.</param>
internal sealed class ListenSocket(Socket socket)
{
    /// <summary>The socket.</summary>
    public Socket Socket => socket;

    /// <summary>What it is bound to.</summary>
    public required EndPoint EndPoint { get; init; }

    /// <summary>Whether connections go on waiting in it when this process stops, for the next one that it is passed to.</summary>
    public bool OutlivesTheProcess { get; init; }

    /// <summary>Takes away what connections come by, so that no new one does.</summary>
    public Action Withdraw { get; init; } = static () => { };
}
