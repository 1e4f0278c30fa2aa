namespace FastCgi.AspNetCore.Transport;

/// <param name="endPoint">The bound address, including a port that the system chose.</param>
internal abstract class TransportListener(EndPoint endPoint)
{
    public EndPoint EndPoint => endPoint;

    public abstract void Start();

    /// <summary>Stops accepting and releases the endpoint. Accepted connections stay open. Call it once.</summary>
    public abstract Task StopAsync(CancellationToken cancellationToken);
}
