using System.Net;

namespace FastCgi.AspNetCore.Transport;

/// <summary>Where connections come from: one endpoint that the server listens on.</summary>
/// <param name="endPoint">See <see cref="EndPoint"/>.</param>
/// <param name="start">Begins to accept connections.</param>
/// <param name="stop">Stops to accept connections and releases the endpoint, until its token ends the wait for what does not end by itself.</param>
internal sealed class TransportListener(EndPoint endPoint, Action start, Func<CancellationToken, Task> stop)
{
    private TaskCompletionSource? _stopped;

    /// <summary>What it is bound to, a port that the system chose included.</summary>
    public EndPoint EndPoint => endPoint;

    /// <summary>Begins to accept connections.</summary>
    public void Start() => start();

    /// <summary>Stops to accept connections and lets go of the endpoint. Those that were accepted live on. A further call waits for the first.</summary>
    /// <param name="cancellationToken">Ends the wait of the first call for what does not end by itself.</param>
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
