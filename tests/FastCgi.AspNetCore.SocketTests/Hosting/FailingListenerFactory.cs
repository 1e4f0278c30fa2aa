using Microsoft.AspNetCore.Connections;

namespace FastCgi.AspNetCore.SocketTests.Hosting;

/// <summary>Listeners to which nobody connects, and that fail when they are to stop.</summary>
internal sealed class FailingListenerFactory : IConnectionListenerFactory, IConnectionListenerFactorySelector
{
    public bool CanBind(System.Net.EndPoint endpoint) => endpoint is EndPoint;

    public ValueTask<IConnectionListener> BindAsync(System.Net.EndPoint endpoint, CancellationToken cancellationToken = default)
        => ValueTask.FromResult<IConnectionListener>(new Listener(endpoint));

    public sealed class EndPoint : System.Net.EndPoint
    {
        public override string ToString() => "failing";
    }

    private sealed class Listener(System.Net.EndPoint endPoint) : IConnectionListener
    {
        public System.Net.EndPoint EndPoint => endPoint;

        public async ValueTask<ConnectionContext?> AcceptAsync(CancellationToken cancellationToken = default)
            => await new TaskCompletionSource<ConnectionContext?>().Task;

        public ValueTask UnbindAsync(CancellationToken cancellationToken = default) => throw new InvalidOperationException("on purpose");

        public ValueTask DisposeAsync() => ValueTask.CompletedTask;
    }
}
