namespace FastCgi.AspNetCore.Transport;

/// <summary>An endpoint that the server listens on.</summary>
internal sealed class TransportListener(EndPoint endPoint, Action start, Func<CancellationToken, Task> stop)
{
    private TaskCompletionSource? _stopped;

    /// <summary>The bound address, including a port that the system chose.</summary>
    public EndPoint EndPoint => endPoint;

    public void Start() => start();

    /// <summary>
    /// Stops accepting and releases the endpoint. Accepted connections stay open. A second call waits for the first.
    /// </summary>
    /// <param name="cancellationToken">Ends the wait of the first call.</param>
    public async Task StopAsync(CancellationToken cancellationToken)
    {
        var stopped = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        if (Interlocked.CompareExchange(ref _stopped, stopped, null) is { } first)
        {
            await first.Task.ConfigureAwait(false);
            return;
        }

        try
        {
            await stop(cancellationToken).ConfigureAwait(false);
        }
        finally
        {
            stopped.SetResult();
        }
    }
}
