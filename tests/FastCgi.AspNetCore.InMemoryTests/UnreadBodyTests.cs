namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>An unread body delays the other requests of its connection for a bounded time only.</summary>
public class UnreadBodyTests
{
    private const int Window = 10_000;

    private static readonly byte[] s_body = Apps.Pattern(30_000);

    private readonly TaskCompletionSource _go = Waiting.Signal();

    [Fact]
    public async Task STDIN_UnreadBeyondTheWindowAmongOthers_PausesThenIsRefusedAndOthersContinue()
    {
        await using var frontEnd = await StartAsync(_go.Task);
        await ShareAsync(frontEnd);

        BeginUpload(frontEnd, length: Window + 1);
        Assert.True(frontEnd.IsPaused);
        frontEnd.Server.Clock.Advance(TimeSpan.FromSeconds(4));
        Assert.Equal(0, frontEnd.Transport.ResumeCount);
        frontEnd.Server.Clock.Advance(TimeSpan.FromSeconds(1));

        Assert.Equal(1, frontEnd.Transport.ResumeCount);
        frontEnd.Send(RecordBytes.StdinStream(1, s_body.AsSpan(Window + 1)), RecordBytes.Post(2, "/other", s_body));
        Assert.False(frontEnd.IsPaused);
        Assert.Equal(Apps.HashOf(s_body), (await frontEnd.ReadResponseAsync(2)).Text);
        frontEnd.Server.Logs.Expected.Add("ApplicationError");
        _go.SetResult();
        Assert.Equal(503, (await frontEnd.ReadResponseAsync()).Status);
        Assert.Equal(1, frontEnd.Server.Context.Counters.RejectedRequests.Single(static count => count.Key == (
            503, "RequestBodyBacklog")).Value);
    }

    [Fact]
    public async Task STDIN_RefusedAndNeverRead_AnswerIsTheApplications()
    {
        await using var frontEnd = await TestServer.ConnectAsync(
            Apps.After(_go.Task, Apps.Target, path: "/upload"),
            SetWindow);
        await ShareAsync(frontEnd);
        BeginUpload(frontEnd, length: Window + 1);

        frontEnd.Server.Clock.Advance(TimeSpan.FromSeconds(6));
        _go.SetResult();

        Assert.Equal("POST /upload", (await frontEnd.ReadResponseAsync()).Text);
    }

    [Theory, Values(true, false)]
    public async Task STDIN_UnreadOnAConnectionOfOneRequestAtATime_WaitsWithoutLimit(bool isKept)
    {
        await using var frontEnd = await StartAsync(_go.Task);

        BeginUpload(frontEnd, length: Window + 1, keepConnection: isKept);
        Assert.True(frontEnd.IsPaused);
        frontEnd.Server.Clock.Advance(TimeSpan.FromHours(1));

        Assert.Equal(0, frontEnd.Transport.ResumeCount);
        _go.SetResult();
        await frontEnd.Transport.WaitUntilAsync(() => frontEnd.Transport.ResumeCount == 1, "receiving to be resumed");
        frontEnd.Send(RecordBytes.StdinStream(1, s_body.AsSpan(Window + 1)));
        Assert.Equal(Apps.HashOf(s_body), (await frontEnd.ReadResponseAsync()).Text);
    }

    [Fact]
    public async Task STDIN_UnreadAfterGetValuesSaidThatMultiplexingIsOn_IsRefused()
    {
        await using var frontEnd = await StartAsync(_go.Task);
        frontEnd.Send(RecordBytes.Record(RecordBytes.GetValues, 0, RecordBytes.Pairs(("FCGI_MPXS_CONNS", ""))));
        await frontEnd.ReadRecordAsync();

        BeginUpload(frontEnd, length: Window + 1);
        frontEnd.Server.Clock.Advance(TimeSpan.FromSeconds(6));

        Assert.Equal(1, frontEnd.Transport.ResumeCount);
        frontEnd.Server.Logs.Expected.Add("ApplicationError");
        _go.SetResult();
        Assert.Equal(503, (await frontEnd.ReadResponseAsync()).Status);
    }

    [Fact]
    public async Task STDIN_ReaderIsCompletedWhilePaused_ReceivingResumes()
    {
        var (complete, go) = (Waiting.Signal(), Waiting.Signal());
        await using var frontEnd = await TestServer.ConnectAsync(
            async context =>
            {
                await complete.Task;
                await context.Request.BodyReader.CompleteAsync();
                await go.Task;
            },
            SetWindow);
        BeginUpload(frontEnd, length: Window + 1);
        Assert.True(frontEnd.IsPaused);

        complete.SetResult();

        await frontEnd.Transport.WaitUntilAsync(() => frontEnd.Transport.ResumeCount == 1, "receiving to be resumed");
        frontEnd.Send(
            RecordBytes.Record(RecordBytes.Stdin, 1, s_body.AsSpan(Window + 1)),
            RecordBytes.Record(RecordBytes.Stdin, 1));
        Assert.False(frontEnd.IsPaused);
        go.SetResult();
        await frontEnd.ReadResponseAsync();
    }

    private static Task<FrontEnd> StartAsync(Task go) => TestServer.ConnectAsync(
        async context =>
        {
            if (context.Request.Path == "/upload")
                await go;
            await Apps.BodyHash(context);
        },
        SetWindow);

    private static void SetWindow(FastCgiServerOptions options) => options.Limits.MaxRequestBufferSize = Window;

    private static void BeginUpload(FrontEnd frontEnd, int length, bool keepConnection = true, int id = 1)
        => frontEnd.Send(
            RecordBytes.PostHead(s_body.Length, id, uri: "/upload", keepConnection: keepConnection),
            RecordBytes.Record(RecordBytes.Stdin, id, s_body.AsSpan(0, length)));

    /// <summary>Two requests at a time, so that the connection is known to carry several.</summary>
    private static async Task ShareAsync(FrontEnd frontEnd)
    {
        frontEnd.Send(RecordBytes.Begin(7), RecordBytes.Begin(8), RecordBytes.Abort(7), RecordBytes.Abort(8));
        await frontEnd.ReadRecordAsync();
        await frontEnd.ReadRecordAsync();
    }
}
