namespace FastCgi.AspNetCore.InMemoryTests.Contract;

public class RequestBodyTests
{
    private const string Boundary = "b0und";

    private static readonly TestRequest s_post = new("POST") { Body = "0123456789"u8.ToArray() };

    private static readonly TestRequest s_form = new("POST")
    {
        Headers = [("Content-Type", "multipart/form-data; boundary=" + Boundary)],
        Body = Apps.Utf8(string.Join("\r\n",
            "--" + Boundary, "Content-Disposition: form-data; name=\"text\"", "", "grüße",
            "--" + Boundary,
            "Content-Disposition: form-data; name=\"file\"; filename=\"a.txt\"",
            "Content-Type: text/plain",
            "",
            new string('x', 100_000),
            "--" + Boundary + "--", "")),
    };

    private static readonly Dictionary<string, ObservedApplication> s_uses = new()
    {
        ["advancing over a part"] = AdvanceAsync,
        ["advancing over a part of a body of unknown length"] = AdvanceAsync,
        ["the wrong order"] = static async (context, seen) =>
        {
            var reader = context.Request.BodyReader;
            var result = await reader.ReadAtLeastAsync(10);
            await seen.TryAsync("read twice", () => reader.ReadAsync().AsTask());
            seen.Try("try twice", () => reader.TryRead(out _));
            reader.AdvanceTo(result.Buffer.GetPosition(1));
        },
        ["advancing twice"] = static async (context, seen) =>
        {
            var reader = context.Request.BodyReader;
            seen.Try("advance before a read", () => reader.AdvanceTo(default));
            var buffer = (await reader.ReadAtLeastAsync(10)).Buffer;
            reader.AdvanceTo(buffer.GetPosition(2));
            seen.Try("advance twice", () => reader.AdvanceTo(buffer.GetPosition(5)));
            seen.Try("advance back", () => reader.AdvanceTo(buffer.Start, buffer.End));
            var rest = await reader.ReadAtLeastAsync(8);
            seen.Note("rest", Encoding.ASCII.GetString(rest.Buffer));
        },
        ["each member"] = static async (context, seen) =>
        {
            var body = context.Request.Body;
            seen.Note("can", $"{body.CanRead} {body.CanWrite} {body.CanSeek}");
            seen.Try("length", () => _ = body.Length);
            seen.Try("position", () => _ = body.Position);
            seen.Try("set position", () => body.Position = 1);
            seen.Try("seek", () => body.Seek(0, SeekOrigin.Begin));
            seen.Try("set length", () => body.SetLength(1));
            seen.Try("write", () => body.Write([1], 0, 1));
            await seen.TryAsync("write async", () => body.WriteAsync(new byte[1]).AsTask());
            seen.Try("flush", body.Flush);
            await seen.TryAsync("flush async", () => body.FlushAsync());
            seen.Try("read", () => Assert.Equal(1, body.Read(new byte[1], 0, 1)));
            seen.Try("read span", () => Assert.Equal(1, body.Read(new byte[1].AsSpan())));
            seen.Try("read byte", () => body.ReadByte());
            seen.Try("copy", () => body.CopyTo(Stream.Null));
            seen.Note("begin", await Task.Factory.FromAsync(body.BeginRead, body.EndRead, new byte[4], 1, 2, null));
            seen.Note("rest", await new StreamReader(body).ReadToEndAsync());
        },
        ["synchronous reads that are allowed"] = static (context, seen) =>
        {
            context.Features.Get<IHttpBodyControlFeature>()!.AllowSynchronousIO = true;
            var body = context.Request.Body;
            seen.Note("byte", body.ReadByte());
            seen.Note("array", body.Read(new byte[5], 1, 2));
            seen.Note("span", body.Read(new byte[2].AsSpan()));
            using var rest = new MemoryStream();
            body.CopyTo(rest);
            seen.Note("rest", rest.Length);
            return Task.CompletedTask;
        },
        ["EnableBuffering"] = static async (context, seen) =>
        {
            context.Request.EnableBuffering(bufferThreshold: 4);
            for (var i = 0; i < 2; i++)
            {
                seen.Note("body", await new StreamReader(context.Request.Body).ReadToEndAsync());
                context.Request.Body.Position = 0;
            }

            var result = await context.Request.BodyReader.ReadAtLeastAsync(10);
            seen.Note("reader", Encoding.ASCII.GetString(result.Buffer));
        },
        ["a body that is replaced and put back"] = static async (context, seen) =>
        {
            var own = context.Request.Body;
            context.Request.Body = new MemoryStream("replaced"u8.ToArray());
            var result = await context.Request.BodyReader.ReadAsync();
            seen.Note("replaced", Encoding.ASCII.GetString(result.Buffer));
            context.Request.BodyReader.AdvanceTo(result.Buffer.End);
            context.Request.Body = own;
            seen.Note("own", await new StreamReader(context.Request.Body).ReadToEndAsync());
        },
        ["form"] = static async (context, seen) =>
        {
            var form = await context.Request.ReadFormAsync();
            var file = form.Files["file"]!;
            seen.Note("form", $"{form["text"]} {file.FileName} {file.ContentType} {file.Length}");
        },
    };

    public static TheoryData<string> Uses => [.. s_uses.Keys];

    [Theory, MemberData(nameof(Uses))]
    [Contract("D12", "E4", "E5", "E8", "E10", "E13", "J", "T32")]
    public Task Body_AnyUse_AsKestrel(string use) => Parity.AssertAsync(s_uses[use], use switch
    {
        "form" => s_form,
        _ => s_post with { HasLength = !use.EndsWith("unknown length", StringComparison.Ordinal) },
    });

    /// <summary>Kestrel's defaults, and a limit that cannot be changed once reading has begun.</summary>
    [Theory, Values("stream", "reader", "try")]
    [Contract("E1", "E3")]
    public async Task MaxRequestBodySize_ReadingHasBegun_ReadOnly(string how) => await Parity.AssertAsync(
        async (context, seen) =>
        {
            var limit = context.Features.Get<IHttpMaxRequestBodySizeFeature>()!;
            seen.Note("limit", limit.MaxRequestBodySize);
            seen.Note("read-only", limit.IsReadOnly);
            seen.Try("negative", () => limit.MaxRequestBodySize = -1);
            limit.MaxRequestBodySize = 0;
            limit.MaxRequestBodySize = null;
            if (how == "stream")
                await context.Request.Body.ReadExactlyAsync(new byte[1]);
            else if (how == "reader")
                await context.Request.BodyReader.ReadAsync();
            else
                context.Request.BodyReader.TryRead(out _);
            seen.Note("read-only", limit.IsReadOnly);
            seen.Try("set", () => limit.MaxRequestBodySize = 1);
        },
        s_post);

    [Theory, Values(true, false)]
    [Contract("E2")]
    public async Task MaxRequestBodySize_Exceeded_EveryReadFailsAndTheApplicationMayAnswer(bool hasLength)
        => await Parity.AssertAsync(
            async (context, seen) =>
            {
                context.Features.Get<IHttpMaxRequestBodySizeFeature>()!.MaxRequestBodySize = 5;
                await seen.TryAsync("stream", () => context.Request.Body.ReadExactlyAsync(new byte[6]).AsTask());
                await seen.TryAsync("again", () => context.Request.Body.ReadExactlyAsync(new byte[6]).AsTask());
                await seen.TryAsync("reader", () => context.Request.BodyReader.ReadAsync().AsTask());
                context.Response.StatusCode = 418;
            },
            s_post with { HasLength = hasLength });

    private static async Task AdvanceAsync(HttpContext context, Observations seen)
    {
        var reader = context.Request.BodyReader;
        var result = await reader.ReadAtLeastAsync(10);
        seen.Note("first", Encoding.ASCII.GetString(result.Buffer));
        reader.AdvanceTo(result.Buffer.GetPosition(4));
        seen.Note("try", reader.TryRead(out result));
        seen.Note("second", Encoding.ASCII.GetString(result.Buffer));
        reader.AdvanceTo(result.Buffer.GetPosition(2), result.Buffer.End);
        result = await reader.ReadAsync();
        seen.Note("third", $"{Encoding.ASCII.GetString(result.Buffer)} {result.IsCompleted}");
        reader.AdvanceTo(result.Buffer.End);
        result = await reader.ReadAsync();
        seen.Note("end", $"{result.Buffer.Length} {result.IsCompleted}");
        reader.AdvanceTo(result.Buffer.End);
    }
}
