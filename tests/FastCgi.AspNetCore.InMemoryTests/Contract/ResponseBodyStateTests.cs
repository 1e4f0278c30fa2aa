namespace FastCgi.AspNetCore.InMemoryTests.Contract;

/// <summary>The response body in states that are unusual, but allowed.</summary>
public sealed class ResponseBodyStateTests
{
    private static readonly CancellationToken s_canceled = new(canceled: true);

    private static readonly Dictionary<string, ObservedApplication> s_uses = new()
    {
        ["Body and BodyWriter in turn"] = static async (context, _) =>
        {
            var response = context.Response;
            await response.Body.WriteAsync("a"u8.ToArray());
            response.BodyWriter.Write("b"u8);
            await response.Body.WriteAsync("c"u8.ToArray());
            response.BodyWriter.Write("d"u8);
            await response.BodyWriter.FlushAsync();
            await response.WriteAsync("e");
            response.BodyWriter.Write("f"u8);
            await response.Body.FlushAsync();
            await response.BodyWriter.WriteAsync("g"u8.ToArray());
            await response.BodyWriter.AsStream().WriteAsync("h"u8.ToArray());
        },
        ["advancing without a lease, past it, or after the start"] = static async (context, seen) =>
        {
            var writer = context.Response.BodyWriter;
            seen.Try("no lease", () => writer.Advance(1));
            seen.Try("negative", () => writer.Advance(-1));
            var length = writer.GetMemory().Length;
            seen.Try("past the end", () => writer.Advance(length + 1));
            seen.Try("nothing", () => writer.Advance(0));
            await context.Response.StartAsync();
            seen.Try("leased before the start", () => writer.Advance(1));
        },
        ["advancing after the completion"] = static async (context, seen) =>
        {
            var writer = context.Response.BodyWriter;
            writer.GetMemory();
            await context.Response.CompleteAsync();
            seen.Try("leased before the completion", () => writer.Advance(1));
        },
        ["memory of each length"] = static (context, seen) =>
        {
            var writer = context.Response.BodyWriter;
            seen.Note("supported", writer.CanGetUnflushedBytes);
            seen.Try("negative memory", () => writer.GetMemory(-1));
            seen.Try("negative span", () => writer.GetSpan(-1));
            foreach (var hint in (int[])[0, 1, 4_096, 65_535, 65_536, 300_000])
            {
                seen.Note("memory", writer.GetMemory(hint).Length >= Math.Max(hint, 1));
                var span = writer.GetSpan(hint);
                seen.Note("span", span.Length >= Math.Max(hint, 1));
                span[..hint].Fill((byte)'x');
                writer.Advance(hint);
            }

            return Task.CompletedTask;
        },
        ["completion of the response"] = static (context, seen)
            => CompleteTwiceAsync(context, seen, context.Response.CompleteAsync),
        ["completion of the writer"] = static (context, seen)
            => CompleteTwiceAsync(context, seen, () => context.Response.BodyWriter.CompleteAsync().AsTask()),
        ["writes after the completion of an empty response"] = static (context, seen)
            => WriteAfterCompletionAsync(context, seen, static _ => Task.CompletedTask),
        ["writes after the completion of a response without a length"] = static (context, seen)
            => WriteAfterCompletionAsync(context, seen, static response => response.WriteAsync("abc")),
        ["writes after the completion of a response with a length"] = static (context, seen)
            => WriteAfterCompletionAsync(context, seen, static response =>
            {
                response.ContentLength = 3;
                return response.WriteAsync("abc");
            }),
        ["writes after the completion of a 204"] = static (context, seen)
            => WriteAfterCompletionAsync(context, seen, static response =>
            {
                response.StatusCode = 204;
                return response.StartAsync();
            }),
        ["parts of a lease"] = static (context, seen) =>
        {
            var writer = context.Response.BodyWriter;
            foreach (var length in (int[])[100_000, 1_000, 65_000, 70_000])
            {
                var memory = writer.GetMemory(length);
                memory.Span[..length].Fill((byte)'x');
                memory.Span[length / 2] = (byte)'|';
                seen.Try("nothing", () => writer.Advance(0));
                seen.Try("first", () => writer.Advance(length * 6 / 10));
                seen.Note("unflushed", writer.UnflushedBytes);
                seen.Try("second", () => writer.Advance(length * 4 / 10));
                seen.Note("unflushed", writer.UnflushedBytes);
                seen.Try("too much", () => writer.Advance(1_000_000));
            }

            return Task.CompletedTask;
        },
        ["a part of a lease, and a write"] = static async (context, seen) =>
        {
            var writer = context.Response.BodyWriter;
            Lease(writer, 100_000, 'x');
            writer.Advance(50_000);
            await writer.WriteAsync("own"u8.ToArray());
            Lease(writer, 100_000, 'y');
            writer.Advance(10);
            await context.Response.Body.WriteAsync("stream"u8.ToArray());
            seen.Note("unflushed", writer.UnflushedBytes);
        },
        ["a part of a lease, and another lease"] = static (context, seen) =>
        {
            var writer = context.Response.BodyWriter;
            foreach (var length in (int[])[100_000, 10, 10, 200_000, 100_000, 1])
            {
                Lease(writer, length, (char)('a' + (length % 7)));
                writer.Advance(length / 2);
                Lease(writer, length, 'x');
                Lease(writer, length, 'y');
                writer.Advance(length);
            }

            seen.Note("unflushed", writer.UnflushedBytes);
            return Task.CompletedTask;
        },
        ["a part of a lease, and the end"] = static (context, _) =>
        {
            Lease(context.Response.BodyWriter, 100_000, 'x');
            context.Response.BodyWriter.Advance(50_000);
            return Task.CompletedTask;
        },
        ["nothing"] = static async (context, seen) =>
        {
            var writer = context.Response.BodyWriter;
            seen.Note("span", writer.GetSpan(0).Length > 0);
            seen.Note("memory", writer.GetMemory(0).Length > 0);
            writer.Advance(0);
            seen.Note("started", context.Response.HasStarted);
            seen.Note("unflushed", writer.UnflushedBytes);
            await writer.WriteAsync(ReadOnlyMemory<byte>.Empty);
            seen.Note("started", context.Response.HasStarted);
            await context.Response.Body.WriteAsync(ReadOnlyMemory<byte>.Empty);
            seen.Note("unflushed", writer.UnflushedBytes);
        },
        ["an empty write to the stream"] = static async (context, seen) =>
        {
            await context.Response.Body.WriteAsync(ReadOnlyMemory<byte>.Empty);
            seen.Note("started", context.Response.HasStarted);
        },
        ["an empty write of an array"] = static async (context, seen) =>
        {
#pragma warning disable CA1835 // The overload is what the test is about.
            await context.Response.Body.WriteAsync([], 0, 0);
#pragma warning restore CA1835
            seen.Note("started", context.Response.HasStarted);
            await context.Response.WriteAsync(string.Empty);
        },
        ["a cancelled token"] = static async (context, seen) =>
        {
            await CancelEachAsync(context, seen);
            seen.Note("started", context.Response.HasStarted);
            await context.Response.StartAsync();
            await CancelEachAsync(context, seen);
            await context.Response.CompleteAsync();
            await CancelEachAsync(context, seen);
        },
        ["a token that is cancelled later"] = static async (context, seen) =>
        {
            var writer = context.Response.BodyWriter;
            using var source = new CancellationTokenSource();
            writer.Write("abc"u8);
            await NoteAsync(seen, "flush", () => writer.FlushAsync(source.Token));
            await source.CancelAsync();
            writer.Write("def"u8);
            await NoteAsync(seen, "flush", () => writer.FlushAsync(source.Token));
            seen.Note("unflushed", writer.UnflushedBytes);
        },
        ["flushes cancelled in advance"] = static async (context, seen) =>
        {
            var (writer, body) = (context.Response.BodyWriter, context.Response.Body);
            writer.CancelPendingFlush();
            writer.CancelPendingFlush();
            await NoteAsync(seen, "flush", () => writer.FlushAsync());
            await NoteAsync(seen, "flush", () => writer.FlushAsync());
            writer.CancelPendingFlush();
            await seen.TryAsync("stream", () => body.WriteAsync("def"u8.ToArray()).AsTask());
            writer.CancelPendingFlush();
            await seen.TryAsync("complete", () => writer.CompleteAsync().AsTask());
        },
        ["a stream that leaves it open"] = static async (context, seen) =>
        {
            var writer = context.Response.BodyWriter;
            await using (var stream = writer.AsStream(leaveOpen: true))
                await stream.WriteAsync("abc"u8.ToArray());
            await NoteAsync(seen, "write", () => writer.WriteAsync("def"u8.ToArray()));
            seen.Note("started", context.Response.HasStarted);
        },
        ["copies"] = static async (context, _) =>
        {
            var body = Apps.Pattern(200_000);
            await new MemoryStream(body).CopyToAsync(context.Response.BodyWriter);
            await PipeReader.Create(new MemoryStream(body)).CopyToAsync(context.Response.BodyWriter);
        },
    };

    public static TheoryData<string, string> Uses => Rows.Cross(s_uses.Keys, "GET", "HEAD");

    [Theory, MemberData(nameof(Uses))]
    [Contract("D1", "D2", "D3", "D4", "D5", "D6", "D7", "T26")]
    public Task Body_AnyState_AsKestrel(string use, string method)
        => Parity.AssertAsync(s_uses[use], new TestRequest(method));

    private static void Lease(PipeWriter writer, int length, char content)
        => writer.GetMemory(length).Span[..length].Fill((byte)content);

    private static async Task CompleteTwiceAsync(HttpContext context, Observations seen, Func<Task> complete)
    {
        var (response, writer) = (context.Response, context.Response.BodyWriter);
        response.OnStarting(Apps.Do(() => seen.Note("starting", "called")));
        writer.Write("abc"u8);
        await seen.TryAsync("complete", complete);
        seen.Note("started", response.HasStarted);
        seen.Try("memory", () => writer.GetMemory());
        seen.Try("span", () => writer.GetSpan());
        await seen.TryAsync("write", () => writer.WriteAsync("x"u8.ToArray()).AsTask());
        await seen.TryAsync("write stream", () => response.Body.WriteAsync("x"u8.ToArray()).AsTask());
        await NoteAsync(seen, "write nothing", () => writer.WriteAsync(ReadOnlyMemory<byte>.Empty));
        await NoteAsync(seen, "flush", () => writer.FlushAsync());
        await seen.TryAsync("flush stream", () => response.Body.FlushAsync());
        await seen.TryAsync("again", complete);
        seen.Try("writer again", () => writer.Complete());
        await seen.TryAsync("start", () => response.StartAsync());
        seen.Try("cancel", writer.CancelPendingFlush);
        seen.Note("unflushed", writer.UnflushedBytes);
    }

    private static async Task WriteAfterCompletionAsync(
        HttpContext context, Observations seen, Func<HttpResponse, Task> write)
    {
        await write(context.Response);
        await context.Response.CompleteAsync();
        var (writer, body) = (context.Response.BodyWriter, context.Response.Body);
        await NoteAsync(seen, "nothing", () => writer.WriteAsync(ReadOnlyMemory<byte>.Empty));
        await seen.TryAsync("nothing to the stream", () => body.WriteAsync(ReadOnlyMemory<byte>.Empty).AsTask());
        await NoteAsync(seen, "flush", () => writer.FlushAsync());
        await seen.TryAsync("text", () => context.Response.WriteAsync("x"));
    }

    private static async Task CancelEachAsync(HttpContext context, Observations seen)
    {
        var (writer, body) = (context.Response.BodyWriter, context.Response.Body);
        var bytes = "x"u8.ToArray();
        await NoteAsync(seen, "flush", () => writer.FlushAsync(s_canceled));
        await NoteAsync(seen, "write", () => writer.WriteAsync(bytes, s_canceled));
        await seen.TryAsync("stream", () => body.WriteAsync(bytes, s_canceled).AsTask());
        await seen.TryAsync("array", () => body.WriteAsync(bytes, 0, 1, s_canceled));
        await seen.TryAsync("flush stream", () => body.FlushAsync(s_canceled));
        await seen.TryAsync("start", () => context.Response.StartAsync(s_canceled));
    }

    private static Task NoteAsync(Observations seen, string what, Func<ValueTask<FlushResult>> flush)
        => seen.TryAsync(what, async () =>
        {
            var result = await flush();
            seen.Note(what, $"{result.IsCanceled} {result.IsCompleted}");
        });
}
