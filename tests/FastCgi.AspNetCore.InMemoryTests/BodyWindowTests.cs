namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>
/// The window of a request body limits unexamined bytes. Bytes that the application has examined while it waits for
/// more do not count: a JSON string, a form value, or a buffered body may be longer than the window.
/// </summary>
public sealed class BodyWindowTests
{
    private const int Window = 10_000;
    private const int Length = 100_000;

    [Theory, Values("examined", "at least", "form", "json", "text")]
    public async Task Body_ReadAsAWholeThatIsLongerThanTheWindow_Arrives(string how)
    {
        await using var frontEnd = await TestServer.ConnectAsync(
            context => ReadAsync(context, how), static options => options.Limits.MaxRequestBufferSize = Window);
        var body = how switch
        {
            "form" => Apps.Utf8("value=" + new string('x', Length)),
            "json" => Apps.Utf8($"\"{new string('x', Length)}\""),
            _ => Apps.Utf8(new string('x', Length)),
        };
        var contentType = how switch
        {
            "form" => "application/x-www-form-urlencoded",
            "json" => "application/json",
            _ => "text/plain",
        };

        frontEnd.Send(RecordBytes.Begin(), RecordBytes.ParamsStream(1, RecordBytes.RequestParams(
            "POST",
            "/",
            ("CONTENT_LENGTH", $"{body.Length}"),
            ("CONTENT_TYPE", contentType))));
        await SendInPiecesAsync(frontEnd, body, RecordBytes.Stdin);
        frontEnd.Send(RecordBytes.Record(RecordBytes.Stdin, 1));

        Assert.Equal($"{Length}", (await frontEnd.ReadResponseAsync()).Text);
    }

    [Theory, Values("stream", "reader", "to writer")]
    public async Task CopyTo_OfAnEmptyBody_WritesNothingAsKestrel(string how)
        => await Parity.AssertAsync(async (context, seen) =>
        {
            var task = how switch
            {
                "stream" => context.Request.Body.CopyToAsync(context.Response.Body),
                "reader" => context.Request.BodyReader.CopyToAsync(context.Response.Body),
                _ => context.Request.BodyReader.CopyToAsync(context.Response.BodyWriter),
            };
            await task;
            seen.Note("started", context.Response.HasStarted);
            context.Response.StatusCode = StatusCodes.Status201Created;
            context.Response.Headers["X-Late"] = "late";
        });

    /// <summary>
    /// The application reads on one thread while the connection pauses on another. The clock does not tick, because a
    /// tick would hide a lost wake-up.
    /// </summary>
    [Fact]
    public async Task Body_ReadWhileReceivingPauses_NoWakeUpIsLost()
    {
        const int Pieces = 20_000;
        await using var frontEnd = await TestServer.ConnectAsync(
            Apps.BodyHash, static options => options.Limits.MaxRequestBufferSize = 10);
        var body = Apps.Pattern(11 * Pieces);

        frontEnd.Send(
            RecordBytes.Begin(),
            RecordBytes.ParamsStream(1, RecordBytes.RequestParams("POST", "/", ("TRANSFER_ENCODING", "chunked"))));
        await SendInPiecesAsync(frontEnd, body, RecordBytes.Stdin, length: 11);
        frontEnd.Send(RecordBytes.Record(RecordBytes.Stdin, 1));

        Assert.Equal(Apps.HashOf(body), (await frontEnd.ReadResponseAsync()).Text);
    }

    private static async Task ReadAsync(HttpContext context, string how)
    {
        var length = how switch
        {
            "form" => (await context.Request.ReadFormAsync())["value"].ToString().Length,
            "json" => (await context.Request.ReadFromJsonAsync<string>())!.Length,
            "text" => (await new StreamReader(context.Request.Body).ReadToEndAsync()).Length,
            "at least" => (int)(await context.Request.BodyReader.ReadAtLeastAsync(Length)).Buffer.Length,
            _ => await ExamineAsync(context.Request.BodyReader),
        };
        await context.Response.WriteAsync($"{length}");
    }

    private static async Task<int> ExamineAsync(PipeReader reader)
    {
        while (true)
        {
            var result = await reader.ReadAsync();
            if (result.IsCompleted)
                return (int)result.Buffer.Length;

            reader.AdvanceTo(result.Buffer.Start, result.Buffer.End);
        }
    }

    /// <summary>Acts as a transport: pushes more unless it was paused, or after it was resumed.</summary>
    private static async Task SendInPiecesAsync(FrontEnd frontEnd, byte[] body, byte type, int length = 6_000)
    {
        var resumed = 0;
        foreach (var piece in body.Chunk(length))
        {
            frontEnd.Send(RecordBytes.Record(type, 1, piece));
            if (!frontEnd.IsPaused)
                continue;

            resumed++;
            await frontEnd.Transport.WaitUntilAsync(
                () => frontEnd.Transport.ResumeCount >= resumed, "receiving to be resumed");
        }
    }
}
