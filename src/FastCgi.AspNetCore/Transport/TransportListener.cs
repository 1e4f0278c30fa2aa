namespace FastCgi.AspNetCore.Transport;

/// <summary>An endpoint that the server listens on.</summary>
/// <param name="EndPoint">The bound address, including a port that the system chose.</param>
/// <param name="StopAsync">
/// Stops accepting and releases the endpoint. Accepted connections stay open. Call it once.
/// </param>
internal sealed record TransportListener(EndPoint EndPoint, Action Start, Func<CancellationToken, Task> StopAsync);
