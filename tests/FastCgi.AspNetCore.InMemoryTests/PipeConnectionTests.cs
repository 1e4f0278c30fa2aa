using System.Buffers;
using System.IO.Pipelines;
using FastCgi.AspNetCore.Testing;
using FastCgi.AspNetCore.Transport;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Xunit;

namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>Connections over anybody's pipes.</summary>
public class PipeConnectionTests
{
    [Fact]
    public async Task End_WhileAnotherThreadWrites_WaitsForIt()
    {
        await using var server = await TestServer.StartAsync(Apps.Hello);
        var pipes = new Pipes();
        var running = Run(server, pipes);
        pipes.Writer.HoldsNextSpan = true;

        await pipes.FromWebServer.Writer.WriteAsync(RecordBytes.Get());
        await pipes.Writer.IsInSpan.Task.Within("the server to write");
        await pipes.FromWebServer.Writer.CompleteAsync();
        await pipes.IsAborted.Task.Within("the end of the connection");

        Assert.False(pipes.Writer.IsCompleted);
        pipes.Writer.GoOn.SetResult();
        await running.Within("the connection to end");
        Assert.True(pipes.Writer.IsCompleted);
        Assert.Equal(0, server.Context.Buffers.RentedCount);
    }

    [Fact]
    public async Task End_WhileAFlushWaits_WaitsForIt()
    {
        await using var server = await TestServer.StartAsync(Apps.Hello);
        var pipes = new Pipes();
        var running = Run(server, pipes);
        var flush = pipes.Writer.HeldFlush = Waiting.Signal<FlushResult>();

        await pipes.FromWebServer.Writer.WriteAsync(RecordBytes.Get());
        await pipes.Writer.IsFlushing.Task.Within("the server to flush");
        await pipes.FromWebServer.Writer.CompleteAsync();
        await pipes.IsAborted.Task.Within("the end of the connection");

        Assert.False(pipes.Writer.IsCompleted);
        flush.SetException(new ConnectionAbortedException());
        await running.Within("the connection to end");
        Assert.True(pipes.Writer.IsCompleted);
        Assert.Equal(0, server.Context.Buffers.RentedCount);
    }

    [Fact]
    public async Task Write_Throws_ConnectionEndsAndNothingIsLeft()
    {
        await using var server = await TestServer.StartAsync(Apps.Hello);
        var pipes = new Pipes();
        var running = Run(server, pipes);
        pipes.Writer.Error = new NotSupportedException("on purpose");

        await pipes.FromWebServer.Writer.WriteAsync(RecordBytes.Get());

        await running.Within("the connection to end");
        Assert.Equal(0, server.Context.Buffers.RentedCount);
        Assert.Equal(0, server.Connections.Count);
    }

    private static Task Run(TestServer server, Pipes pipes)
    {
        var connection = new PipeConnection(pipes, server.Connections, server.Scheduler);
        Assert.True(server.Connections.TryAdd(connection.Connection));
        return connection.RunAsync();
    }

    private sealed class Pipes : ConnectionContext, IDuplexPipe
    {
        public Pipe FromWebServer { get; } = new();

        public HeldWriter Writer { get; } = new(new Pipe().Writer);

        public TaskCompletionSource IsAborted { get; } = Waiting.Signal();

        public override IDuplexPipe Transport { get => this; set => throw new NotSupportedException(); }

        public PipeReader Input => FromWebServer.Reader;

        public PipeWriter Output => Writer;

        public override string ConnectionId { get; set; } = "test";

        public override IFeatureCollection Features { get; } = new FeatureCollection();

        public override IDictionary<object, object?> Items { get; set; } = new ConnectionItems();

        public override void Abort(ConnectionAbortedException abortReason) => IsAborted.TrySetResult();
    }

    private sealed class HeldWriter(PipeWriter inner) : PipeWriter
    {
        public bool HoldsNextSpan { get; set; }

        public TaskCompletionSource IsInSpan { get; } = Waiting.Signal();

        public TaskCompletionSource GoOn { get; } = Waiting.Signal();

        public TaskCompletionSource IsFlushing { get; } = Waiting.Signal();

        public TaskCompletionSource<FlushResult>? HeldFlush { get; set; }

        public Exception? Error { get; set; }

        public bool IsCompleted { get; private set; }

        public override Span<byte> GetSpan(int sizeHint = 0)
        {
            if (Error is not null)
                throw Error;
            if (HoldsNextSpan)
            {
                HoldsNextSpan = false;
                IsInSpan.SetResult();
                GoOn.Task.Wait();
            }

            return inner.GetSpan(sizeHint);
        }

        public override Memory<byte> GetMemory(int sizeHint = 0) => inner.GetMemory(sizeHint);

        public override void Advance(int bytes) => inner.Advance(bytes);

        public override ValueTask<FlushResult> FlushAsync(CancellationToken cancellationToken = default)
        {
            IsFlushing.TrySetResult();
            return HeldFlush is { } flush ? new ValueTask<FlushResult>(flush.Task) : inner.FlushAsync(cancellationToken);
        }

        public override void CancelPendingFlush() => inner.CancelPendingFlush();

        public override void Complete(Exception? exception = null)
        {
            IsCompleted = true;
            inner.Complete(exception);
        }
    }
}
