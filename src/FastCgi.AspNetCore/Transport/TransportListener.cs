using System.Net;

namespace FastCgi.AspNetCore.Transport;

/// <summary>Where connections come from: one endpoint that the server listens on.</summary>
internal abstract class TransportListener
{
    /// <summary>What it is bound to, a port that the system chose included.</summary>
    public abstract EndPoint EndPoint { get; }

    /// <summary>Begins to accept connections.</summary>
    public abstract void Start();

    /// <summary>Stops to accept connections and lets go of the endpoint. Those that were accepted live on. Called once, however often the server is stopped.</summary>
    /// <param name="cancellationToken">Ends the wait for what does not end by itself.</param>
    public abstract ValueTask StopAsync(CancellationToken cancellationToken);
}
