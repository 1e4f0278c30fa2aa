using Microsoft.AspNetCore.Hosting.Server;

namespace FastCgi.AspNetCore.InMemoryTests.Fuzzing;

/// <summary>
/// Does what applications should not do, each request something else, by a seed; but /neighbour is answered as it should be: with the
/// length of its body.
/// </summary>
internal sealed class MisbehavingApplication : IHttpApplication<IFeatureCollection>
{
    private const string Neighbour = "/neighbour";

    private static readonly Func<IFeatureCollection, Task?>[] s_ways =
    [
        static _ => Task.CompletedTask,
        static _ => null,
        static _ => throw new InvalidOperationException("thrown at once"),
        static _ => Task.FromException(new InvalidOperationException("a task that failed")),
        static _ => Task.FromCanceled(new CancellationToken(canceled: true)),
        ThrowLaterAsync,
        WriteAndThrowAsync,
        static features => WriteAsync(features, contentLength: 5, length: 3),
        static features => WriteAsync(features, contentLength: 3, length: 5),
        static features => WriteAsync(features, contentLength: null, length: 200_000),
        ReadAllAsync,
        ReadWithoutAdvancingAsync,
        ReadAndAbortAsync,
        Abort,
        UntilAbortedAsync,
        static features => Respond(features, static response => response.StatusCode = 99),
        static features => Respond(features, static response => response.StatusCode = 204, length: 10),
        static features => Respond(features, static response => response.Headers["X-Split"] = "a\r\nSet-Cookie: b"),
        static features => Respond(features, static response => response.Headers["X Name\n"] = "a"),
        static features => Respond(features, static response => response.OnStarting(static _ => throw new InvalidOperationException("OnStarting"), "")),
        static features => Respond(features, static response => response.OnCompleted(static _ => throw new InvalidOperationException("OnCompleted"), "")),
        ThrowInCancellation,
        AdvanceTooFar,
        LeaseAndReturn,
        CompleteAndGoOnAsync,
        FlushManyAsync,
    ];

    private long _active;

    /// <summary>What the next requests do.</summary>
    public ulong Seed { get; set; }

    /// <summary>The requests whose context was made, and is not disposed of.</summary>
    public long Active => Interlocked.Read(ref _active);

    public IFeatureCollection CreateContext(IFeatureCollection contextFeatures)
    {
        Interlocked.Increment(ref _active);
        return contextFeatures;
    }

    public Task ProcessRequestAsync(IFeatureCollection context)
    {
        if (context.Get<IHttpRequestFeature>()!.Path == Neighbour)
            return AnswerAsync(context);

        var random = new FuzzRandom(Seed++);
        return s_ways[random.Next(s_ways.Length)](context)!;
    }

    public void DisposeContext(IFeatureCollection context, Exception? exception) => Interlocked.Decrement(ref _active);

    private static async Task AnswerAsync(IFeatureCollection features)
    {
        var length = await ReadLengthAsync(features);
        await features.Get<IHttpResponseBodyFeature>()!.Writer.WriteAsync(Apps.Utf8($"{length}"));
    }

    private static async Task<long> ReadLengthAsync(IFeatureCollection features)
    {
        var reader = features.Get<IRequestBodyPipeFeature>()!.Reader;
        var length = 0L;
        while (true)
        {
            var result = await reader.ReadAsync();
            length += result.Buffer.Length;
            reader.AdvanceTo(result.Buffer.End);
            if (result.IsCompleted)
                return length;
        }
    }

    private static async Task ThrowLaterAsync(IFeatureCollection features)
    {
        await Task.Yield();
        throw new InvalidOperationException("thrown later");
    }

    private static async Task WriteAndThrowAsync(IFeatureCollection features)
    {
        await WriteAsync(features, contentLength: null, length: 20);
        await features.Get<IHttpResponseBodyFeature>()!.Writer.FlushAsync();
        throw new InvalidOperationException("thrown behind the start");
    }

    private static async Task WriteAsync(IFeatureCollection features, long? contentLength, int length)
    {
        features.Get<IHttpResponseFeature>()!.Headers.ContentLength = contentLength;
        await features.Get<IHttpResponseBodyFeature>()!.Writer.WriteAsync(new byte[length]);
    }

    private static async Task ReadAllAsync(IFeatureCollection features) => await ReadLengthAsync(features);

    private static async Task ReadWithoutAdvancingAsync(IFeatureCollection features)
    {
        await features.Get<IRequestBodyPipeFeature>()!.Reader.ReadAsync();
        await features.Get<IRequestBodyPipeFeature>()!.Reader.ReadAsync();
    }

    private static async Task ReadAndAbortAsync(IFeatureCollection features)
    {
        await ReadLengthAsync(features);
        features.Get<IHttpRequestLifetimeFeature>()!.Abort();
        await WriteAsync(features, contentLength: null, length: 10);
    }

    private static Task Abort(IFeatureCollection features)
    {
        features.Get<IHttpRequestLifetimeFeature>()!.Abort();
        features.Get<IHttpRequestLifetimeFeature>()!.Abort();
        return Task.CompletedTask;
    }

    private static async Task UntilAbortedAsync(IFeatureCollection features)
    {
        var aborted = Waiting.Signal();
        await using var registration = features.Get<IHttpRequestLifetimeFeature>()!.RequestAborted.Register(aborted.SetResult);
        await aborted.Task;
    }

    private static Task Respond(IFeatureCollection features, Action<IHttpResponseFeature> set, int length = 1)
    {
        set(features.Get<IHttpResponseFeature>()!);
        return WriteAsync(features, contentLength: null, length);
    }

    private static Task ThrowInCancellation(IFeatureCollection features)
    {
        features.Get<IHttpRequestLifetimeFeature>()!.RequestAborted.Register(static () => throw new InvalidOperationException("RequestAborted"));
        return ReadAllAsync(features);
    }

    private static Task AdvanceTooFar(IFeatureCollection features)
    {
        var writer = features.Get<IHttpResponseBodyFeature>()!.Writer;
        writer.GetSpan(10);
        writer.Advance(1_000_000);
        return Task.CompletedTask;
    }

    private static Task LeaseAndReturn(IFeatureCollection features)
    {
        features.Get<IHttpResponseBodyFeature>()!.Writer.GetMemory(70_000);
        return Task.CompletedTask;
    }

    private static async Task CompleteAndGoOnAsync(IFeatureCollection features)
    {
        var body = features.Get<IHttpResponseBodyFeature>()!;
        await body.StartAsync();
        await body.CompleteAsync();
        await body.Writer.WriteAsync(new byte[10]);
        features.Get<IHttpResponseFeature>()!.StatusCode = 500;
    }

    private static async Task FlushManyAsync(IFeatureCollection features)
    {
        var writer = features.Get<IHttpResponseBodyFeature>()!.Writer;
        for (var i = 0; i < 20; i++)
        {
            writer.Write("x"u8);
            await writer.FlushAsync();
            await Task.Yield();
        }

        await writer.CompleteAsync();
    }
}
