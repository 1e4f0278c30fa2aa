namespace FastCgi.AspNetCore.InMemoryTests.Contract;

/// <summary>The request body in states that are unusual, but allowed.</summary>
public sealed class RequestBodyStateTests
{
    private static readonly TestRequest s_post = new("POST") { Body = "0123456789"u8.ToArray() };
    private static readonly CancellationToken s_canceled = new(canceled: true);

    private static readonly Dictionary<string, ObservedApplication> s_uses = new()
    {
        ["completion"] = static async (context, seen) =>
        {
            var reader = context.Request.BodyReader;
            await reader.CompleteAsync();
            await ReadInEachWayAsync(context, seen, default);
            seen.Try("advance", () => reader.AdvanceTo(default));
            seen.Try("advance and examine", () => reader.AdvanceTo(default, default));
            seen.Try("cancel", reader.CancelPendingRead);
            await seen.TryAsync("complete again", () => reader.CompleteAsync().AsTask());
            await ReadInEachWayAsync(context, seen, s_canceled);
            await context.Response.WriteAsync("Hello");
        },
        ["completion with an exception"] = static async (context, seen) =>
        {
            var reader = context.Request.BodyReader;
            await seen.TryAsync("complete", () => reader.CompleteAsync(new FormatException("first")).AsTask());
            await seen.TryAsync("complete again", () => reader.CompleteAsync(new FormatException("second")).AsTask());
            await NoteAsync(seen, "read", reader, static reader => reader.ReadAsync());
        },
        ["completion between a read and its end"] = static async (context, seen) =>
        {
            var reader = context.Request.BodyReader;
            var result = await reader.ReadAsync();
            await reader.CompleteAsync();
            seen.Try("advance", () => reader.AdvanceTo(result.Buffer.End));
            await NoteAsync(seen, "read", reader, static reader => reader.ReadAsync());
        },
        ["completion by a stream"] = static async (context, seen) =>
        {
            var reader = context.Request.BodyReader;
            await using (var stream = reader.AsStream())
                seen.Note("length", await stream.ReadAsync(new byte[4]));
            await NoteAsync(seen, "read", reader, static reader => reader.ReadAsync());
        },
        ["a stream that leaves it open"] = static async (context, seen) =>
        {
            var reader = context.Request.BodyReader;
            await using (var stream = reader.AsStream(leaveOpen: true))
                seen.Note("length", await stream.ReadAsync(new byte[4]));
            await NoteAsync(seen, "read", reader, static reader => reader.ReadAtLeastAsync(6));
        },
        ["disposal"] = static async (context, seen) =>
        {
            await context.Request.Body.DisposeAsync();
            context.Request.Body.Close();
            await ReadInEachWayAsync(context, seen, default);
        },
        ["a cancelled token"] = static async (context, seen) =>
        {
            var body = context.Request.Body;
            await ReadInEachWayAsync(context, seen, s_canceled);
            await seen.TryAsync("nothing", () => body.ReadAsync(Memory<byte>.Empty, s_canceled).AsTask());
            await seen.TryAsync("flush", () => body.FlushAsync(s_canceled));
            await seen.TryAsync("write", () => body.WriteAsync(new byte[1], s_canceled).AsTask());
            seen.Note("read-only", context.Features.GetRequiredFeature<IHttpMaxRequestBodySizeFeature>().IsReadOnly);
            await context.Request.BodyReader.ReadAtLeastAsync(10);
            await ReadInEachWayAsync(context, seen, s_canceled);
        },
        ["the end"] = static async (context, seen) =>
        {
            await context.Request.Body.CopyToAsync(Stream.Null);
            await ReadInEachWayAsync(context, seen, default);
            await ReadInEachWayAsync(context, seen, default);
            await ReadInEachWayAsync(context, seen, s_canceled);
        },
        ["a copy to a completed writer"] = static async (context, seen) =>
        {
            var pipe = new Pipe();
            await pipe.Writer.CompleteAsync();
            await seen.TryAsync("copy", () => context.Request.BodyReader.CopyToAsync(pipe.Writer));
            await NoteAsync(seen, "read", context.Request.BodyReader, static reader => reader.ReadAtLeastAsync(10));
        },
        ["a copy to a failing stream"] = static async (context, seen) =>
        {
            var reader = context.Request.BodyReader;
            await seen.TryAsync("stream", () => reader.CopyToAsync(new MemoryStream(new byte[3])));
            await seen.TryAsync("writer", () => reader.CopyToAsync(PipeWriter.Create(new MemoryStream(new byte[3]))));
            await seen.TryAsync("body", () => context.Request.Body.CopyToAsync(new MemoryStream(new byte[3])));
            await NoteAsync(seen, "read", reader, static reader => reader.ReadAtLeastAsync(10));
        },
        ["a cancelled copy"] = static async (context, seen) =>
        {
            var reader = context.Request.BodyReader;
            var pipe = new Pipe();
            pipe.Writer.CancelPendingFlush();
            await seen.TryAsync("flush", () => reader.CopyToAsync(pipe.Writer));
            reader.CancelPendingRead();
            await seen.TryAsync("read", () => reader.CopyToAsync(Stream.Null));
            await NoteAsync(seen, "rest", reader, static reader => reader.ReadAtLeastAsync(10));
        },
        ["ReadAtLeastAsync"] = static async (context, seen) =>
        {
            var reader = context.Request.BodyReader;
            reader.CancelPendingRead();
            await NoteAsync(seen, "cancelled", reader, static reader => reader.ReadAtLeastAsync(10), isConsumed: false);
            await NoteAsync(
                seen, "too much", reader, static reader => reader.ReadAtLeastAsync(1_000_000), isConsumed: false);
            await NoteAsync(seen, "nothing", reader, static reader => reader.ReadAtLeastAsync(0));
            await NoteAsync(seen, "end", reader, static reader => reader.ReadAtLeastAsync(1));
        },
        ["cancellation of a read that has its result"] = static async (context, seen) =>
        {
            var reader = context.Request.BodyReader;
            // All of it, because the rest arrives at any time.
            var result = await reader.ReadAtLeastAsync(10_000);
            reader.CancelPendingRead();
            reader.AdvanceTo(result.Buffer.Start);
            await NoteAsync(seen, "cancelled", reader, static reader => reader.ReadAsync(), isConsumed: false);
            await NoteAsync(seen, "next", reader, static reader => reader.ReadAtLeastAsync(10_000));
        },
        ["an abort by the application"] = static async (context, seen) =>
        {
            context.Abort();
            await NoteAbortAsync(context, seen);
        },
    };

    public static TheoryData<string, string> Uses
        => Rows.Cross(s_uses.Keys, "none", "empty", "small", "chunked", "large");

    [Theory, MemberData(nameof(Uses))]
    [Contract("E4", "E5", "E6", "E8")]
    public Task Body_AnyState_AsKestrel(string use, string body)
    {
        var request = body switch
        {
            "none" => new TestRequest(),
            "empty" => s_post with { Body = [] },
            "chunked" => s_post with { HasLength = false },
            "large" => s_post with { Body = Apps.Pattern(10_000) },
            _ => s_post,
        };
        return Parity.AssertAsync(s_uses[use], request);
    }

    /// <summary>The copy ends without an error or, on Kestrel, sometimes with one.</summary>
    [Fact]
    [Contract("E4")]
    public Task Read_AfterACopyToAClosedPipe_GetsTheRest() => Parity.AssertAsync(
        static async (context, seen) =>
        {
            var pipe = new Pipe();
            await pipe.Reader.CompleteAsync();
            await Record.ExceptionAsync(() => context.Request.BodyReader.CopyToAsync(pipe.Writer));
            await NoteAsync(seen, "read", context.Request.BodyReader, static reader => reader.ReadAtLeastAsync(10));
        },
        s_post);

    private static async Task ReadInEachWayAsync(HttpContext context, Observations seen, CancellationToken token)
    {
        var (reader, body) = (context.Request.BodyReader, context.Request.Body);
        await NoteAsync(seen, "read", reader, reader => reader.ReadAsync(token));
        await NoteAsync(seen, "at least", reader, reader => reader.ReadAtLeastAsync(5, token));
        await seen.TryAsync("stream", async () => seen.Note("length", await body.ReadAsync(new byte[5], token)));
#pragma warning disable CA1835 // The overload is what the test is about.
        await seen.TryAsync("array", async () => seen.Note("length", await body.ReadAsync(new byte[5], 0, 5, token)));
#pragma warning restore CA1835
        await seen.TryAsync("copy", () => reader.CopyToAsync(Stream.Null, token));
        await seen.TryAsync("stream copy", () => body.CopyToAsync(Stream.Null, token));
        if (token.IsCancellationRequested)
            return;

        seen.Try("try", () =>
        {
            seen.Note("read", reader.TryRead(out var result));
            reader.AdvanceTo(result.Buffer.End);
        });
    }

    /// <summary>Each read fails. Kestrel's message is another one.</summary>
    private static async Task NoteAbortAsync(HttpContext context, Observations seen)
    {
        var (reader, body) = (context.Request.BodyReader, context.Request.Body);
        Func<Task>[] reads =
        [
            () => reader.ReadAsync().AsTask(),
            () => Task.FromResult(reader.TryRead(out _)),
            () => reader.ReadAtLeastAsync(1).AsTask(),
            () => reader.CopyToAsync(Stream.Null),
            () => body.ReadAsync(new byte[1]).AsTask(),
            () => body.CopyToAsync(Stream.Null),
            () => body.ReadAsync(new byte[1], s_canceled).AsTask(),
        ];
        foreach (var read in reads)
        {
            var error = await Record.ExceptionAsync(read);
            seen.Note("read", error is null ? "done" : Observations.Describe(error).Split(':')[0]);
        }
    }

    // Whether the end of a chunked body has arrived with the rest is a matter of time on Kestrel.
    private static Task NoteAsync(
        Observations seen, string what, PipeReader reader, Func<PipeReader, ValueTask<ReadResult>> read,
        bool isConsumed = true)
        => seen.TryAsync(what, async () =>
        {
            var result = await read(reader);
            var end = result.Buffer.IsEmpty ? $"{result.IsCompleted}" : "more";
            seen.Note(what, $"{result.IsCanceled} {result.Buffer.Length} {end}");
            reader.AdvanceTo(isConsumed ? result.Buffer.End : result.Buffer.Start);
        });
}
