using System.Net;

namespace FastCgi.AspNetCore.Transport;

/// <summary>Where connections come from: one endpoint that the server listens on.</summary>
internal abstract class TransportListener
{
    private TaskCompletionSource? _stopped;

    /// <summary>What it is bound to, a port that the system chose included.</summary>
    public abstract EndPoint EndPoint { get; }

    /// <summary>Begins to accept connections.</summary>
    public abstract void Start();

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
            await StopCoreAsync(cancellationToken).ConfigureAwait(false);
        }
        finally
        {
            stopped.SetResult();
        }
    }

    /// <inheritdoc cref="StopAsync"/>
    protected abstract Task StopCoreAsync(CancellationToken cancellationToken);
}
