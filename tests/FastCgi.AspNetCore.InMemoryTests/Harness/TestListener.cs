using System.Threading.Channels;

namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>A listener of a third-party transport, whose connections the test makes.</summary>
internal sealed class TestListener(EndPoint endPoint) : IConnectionListener
{
    private readonly Channel<ConnectionContext> _connections = Channel.CreateUnbounded<ConnectionContext>();
    private readonly TaskCompletionSource _disposed = Waiting.Signal();

    public EndPoint EndPoint => endPoint;

    /// <summary>What each accept throws.</summary>
    public Exception? Error { get; init; }

    /// <summary>How it stops listening.</summary>
    public Task Unbinding { get; init; } = Task.CompletedTask;

    public bool IsAsked { get; private set; }

    public bool IsUnbound { get; private set; }

    public bool IsDisposed => Disposed.IsCompleted;

    public Task Disposed => _disposed.Task;

    public PipeContext Connect(string address)
    {
        var context = new PipeContext { RemoteEndPoint = new IPEndPoint(IPAddress.Parse(address), 50_000) };
        Assert.True(_connections.Writer.TryWrite(context));
        return context;
    }

    public async ValueTask<ConnectionContext?> AcceptAsync(CancellationToken cancellationToken = default)
    {
        IsAsked = true;
        if (Error is not null)
            throw Error;
        return await _connections.Reader.WaitToReadAsync(cancellationToken)
            ? await _connections.Reader.ReadAsync(cancellationToken)
            : null;
    }

    public ValueTask UnbindAsync(CancellationToken cancellationToken = default)
    {
        IsUnbound = true;
        _connections.Writer.TryComplete();
        return new ValueTask(Unbinding);
    }

    public ValueTask DisposeAsync()
    {
        _disposed.TrySetResult();
        return ValueTask.CompletedTask;
    }
}

internal sealed class NamedEndPoint(string name) : EndPoint
{
    public override string ToString() => name;
}

/// <summary>Makes listeners for endpoints with a name.</summary>
internal sealed class TestListenerFactory : IConnectionListenerFactory, IConnectionListenerFactorySelector
{
    /// <summary>The listeners that it has made.</summary>
    public ConcurrentQueue<TestListener> Made { get; } = new();

    public Predicate<EndPoint> CanBindTo { get; init; } = static endPoint => endPoint is NamedEndPoint;

    /// <summary>Called when it is to bind an endpoint, which it does when the task ends.</summary>
    public Func<Task> Binding { get; init; } = static () => Task.CompletedTask;

    /// <summary>How its listeners stop listening.</summary>
    public Task Unbinding { get; init; } = Task.CompletedTask;

    public bool CanBind(EndPoint endpoint) => CanBindTo(endpoint);

    public async ValueTask<IConnectionListener> BindAsync(
        EndPoint endpoint, CancellationToken cancellationToken = default)
    {
        await Binding();
        var listener = new TestListener(endpoint) { Unbinding = Unbinding };
        Made.Enqueue(listener);
        return listener;
    }
}
