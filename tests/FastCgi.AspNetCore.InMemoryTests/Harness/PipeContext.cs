namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>A connection over a third-party transport; the test acts as the web server.</summary>
internal sealed class PipeContext : ConnectionContext, IDuplexPipe
{
    public Pipe FromWebServer { get; } = new();

    public HeldWriter Writer { get; init; } = new(new Pipe().Writer);

    public TaskCompletionSource IsAborted { get; } = Waiting.Signal();

    /// <summary>The exception that the transport throws when it is asked for its pipes the next time.</summary>
    public Exception? TransportError { get; set; }

    public override IDuplexPipe Transport
    {
        get
        {
            var error = TransportError;
            TransportError = null;
            return error is null ? this : throw error;
        }
        set => throw new NotSupportedException();
    }

    public PipeReader Input => Reader ?? FromWebServer.Reader;

    /// <summary>Takes the place of <see cref="FromWebServer"/>.</summary>
    public PipeReader? Reader { get; init; }

    public override EndPoint? RemoteEndPoint { get; set; }

    public PipeWriter Output => Writer;

    public bool IsDisposed { get; private set; }

    public override string ConnectionId { get; set; } = "test";

    public override IFeatureCollection Features { get; } = new FeatureCollection();

    public override IDictionary<object, object?> Items { get; set; } = new ConnectionItems();

    /// <summary>The exception that the transport throws when it is aborted.</summary>
    public Exception? AbortError { get; init; }

    public int AbortCount { get; private set; }

    public FastCgiConnection Connection { get; private set; } = null!;

    /// <summary>Until the end of the connection.</summary>
    public Task Running { get; private set; } = Task.CompletedTask;

    public static PipeContext Run(TestServer server)
    {
        var pipes = new PipeContext();
        pipes.RunOn(server);
        return pipes;
    }

    public void RunOn(TestServer server)
    {
        var connection = new PipeConnection(this, server.Engine.ChooseLoop(), server.Connections);
        Connection = connection.Connection;
        Assert.True(server.Connections.TryAdd(Connection));
        Running = Task.Run(connection.RunAsync);
    }

    public async Task SendAsync(ReadOnlyMemory<byte> bytes) => await FromWebServer.Writer.WriteAsync(bytes);

    /// <summary>The web server ends its side, and the connection ends.</summary>
    public async Task EndAsync()
    {
        await FromWebServer.Writer.CompleteAsync();
        await Running.Within("the end of the connection");
    }

    public override void Abort(ConnectionAbortedException abortReason)
    {
        AbortCount++;
        IsAborted.TrySetResult();
        if (AbortError is not null)
            throw AbortError;
    }

    /// <summary>Delays the disposal, as a transport does whose peer receives nothing.</summary>
    public TaskCompletionSource? Disposal { get; init; }

    public override ValueTask DisposeAsync()
    {
        IsDisposed = true;
        return Disposal is null ? base.DisposeAsync() : new ValueTask(Disposal.Task);
    }
}

/// <summary>A writer that can be slow, or fail.</summary>
internal sealed class HeldWriter(PipeWriter inner) : PipeWriter
{
    public bool HoldsNextSpan { get; set; }

    public TaskCompletionSource IsInSpan { get; } = Waiting.Signal();

    public TaskCompletionSource Continue { get; } = Waiting.Signal();

    public TaskCompletionSource IsFlushing { get; } = Waiting.Signal();

    public TaskCompletionSource<FlushResult>? HeldFlush { get; set; }

    public Exception? Error { get; set; }

    /// <summary>Called with the number of each flush.</summary>
    public Action<int>? Flushing { get; set; }

    public int FlushCount { get; private set; }

    public bool IsCompleted => Completed.Task.IsCompleted;

    public TaskCompletionSource Completed { get; } = Waiting.Signal();

    public override Span<byte> GetSpan(int sizeHint = 0)
    {
        if (Error is not null)
            throw Error;
        if (HoldsNextSpan)
        {
            HoldsNextSpan = false;
            IsInSpan.SetResult();
            Continue.Task.Wait();
        }

        return inner.GetSpan(sizeHint);
    }

    public override Memory<byte> GetMemory(int sizeHint = 0) => inner.GetMemory(sizeHint);

    public override void Advance(int bytes) => inner.Advance(bytes);

    public override ValueTask<FlushResult> FlushAsync(CancellationToken cancellationToken = default)
    {
        IsFlushing.TrySetResult();
        Flushing?.Invoke(++FlushCount);
        return HeldFlush is { } flush ? new ValueTask<FlushResult>(flush.Task) : inner.FlushAsync(cancellationToken);
    }

    public override void CancelPendingFlush() => inner.CancelPendingFlush();

    public override void Complete(Exception? exception = null)
    {
        inner.Complete(exception);
        Completed.TrySetResult();
    }
}
