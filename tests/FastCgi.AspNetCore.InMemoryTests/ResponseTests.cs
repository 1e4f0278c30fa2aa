namespace FastCgi.AspNetCore.InMemoryTests;

public class ResponseTests
{
    [Fact]
    public async Task Write_OfAResponseThatCannotStart_IsNotCounted()
    {
        var response = await TestServer.AskAsync(static async context =>
        {
            context.Response.StatusCode = 204;
            context.Response.ContentLength = 5;
            await Assert.ThrowsAsync<InvalidOperationException>(() => context.Response.Body.WriteAsync("hello"u8.ToArray()).AsTask());
            context.Response.StatusCode = 200;
            await context.Response.Body.WriteAsync("hello"u8.ToArray());
        });

        Assert.Equal("hello", response.Text);
    }

    [Fact]
    public async Task Status_AlwaysLastAndBehindLocation()
    {
        var response = await TestServer.AskAsync(Apps.Do(static context => context.Response.Redirect("/elsewhere", permanent: true)));

        Assert.Equal("301 Moved Permanently", response.StatusLine);
        Assert.Equal("/elsewhere", response["Location"]);
    }

    [Fact]
    [Trait("Contract", "B10")]
    [Trait("Contract", "T12")]
    public async Task Exception_AfterTheStart_ResetWithoutEnd()
    {
        await using var frontEnd = await TestServer.ConnectAsync(static async context =>
        {
            await context.Response.WriteAsync("partial");
            throw new InvalidOperationException("on purpose");
        }, expects: "ApplicationError");

        frontEnd.Send(RecordBytes.Get());

        Assert.True(frontEnd.Transport.IsReset);
        Assert.All(frontEnd.ReadAvailable(), static record => Assert.True(record.Type == RecordBytes.Stdout && record.Content.Length > 0));
    }

    [Theory]
    [InlineData(200, "Hello")]
    [InlineData(204, "")]
    public async Task Exception_WhenTheResponseIsWritten_Complete(int status, string body)
    {
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            context.Response.StatusCode = status;
            if (body.Length > 0)
                context.Response.ContentLength = body.Length;
            await context.Response.StartAsync();
            await context.Response.WriteAsync(body);
            throw new InvalidOperationException("It failed after the response.");
        }, expects: "ApplicationError");

        var response = await frontEnd.AskAsync();
        Assert.Equal((status, body), (response.Status, response.Text));
        Assert.False(frontEnd.Transport.IsClosed);
    }

    [Fact]
    public async Task Exception_AfterTheStartWhereNothingCanBeReset_AbortRecordAndClose()
    {
        await using var frontEnd = await TestServer.ConnectAsync(static async context =>
        {
            await context.Response.WriteAsync("partial");
            throw new InvalidOperationException("on purpose");
        }, expects: "ApplicationError");
        frontEnd.Transport.HasReset = false;

        frontEnd.Send(RecordBytes.Get());

        var records = frontEnd.ReadAvailable();
        Assert.Equal([RecordBytes.Stdout, RecordBytes.AbortRequest], records.Select(static record => record.Type));
        Assert.EndsWith("partial", System.Text.Encoding.ASCII.GetString(records[0].Content), StringComparison.Ordinal);
        Assert.True(frontEnd.Transport.IsClosed);
    }

    [Fact]
    [Trait("Contract", "T12")]
    public async Task Exception_AfterTheStartAmongOthers_EndWithAppStatusAndNoEndOfStdout()
    {
        var go = Waiting.Signal();
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            if (context.Request.Path == "/fails")
            {
                await context.Response.WriteAsync("partial");
                throw new InvalidOperationException("on purpose");
            }

            await go.Task;
            await Apps.Hello(context);
        }, expects: "ApplicationError");
        frontEnd.Send(RecordBytes.Get(1, "/stays"));

        frontEnd.Send(RecordBytes.Get(2, "/fails"));
        Assert.EndsWith("partial", System.Text.Encoding.ASCII.GetString((await frontEnd.ReadRecordAsync()).Content), StringComparison.Ordinal);
        var end = await frontEnd.ReadRecordAsync();
        Assert.Equal((2, RecordBytes.EndRequest, 1), (end.Id, end.Type, end.Content[3]));
        go.SetResult();

        Assert.Equal("Hello", (await frontEnd.ReadResponseAsync()).Text);
    }

    [Fact]
    public async Task ReasonPhrase_Valid_IsSent() => Assert.Equal("200 Fine", (await TestServer.AskAsync(
        Apps.Do(static context => context.Features.GetRequiredFeature<IHttpResponseFeature>().ReasonPhrase = "Fine"))).StatusLine);

    [Theory, Values("OK\r\nX-Injected: 1", "a\rb", "a\nb", "a\0b")]
    public async Task ReasonPhrase_Invalid_500OrReset(string reason)
    {
        await using var frontEnd = await TestServer.ConnectAsync(context =>
        {
            context.Features.Get<IHttpResponseFeature>()!.ReasonPhrase = reason;
            return Apps.Hello(context);
        }, expects: "ApplicationError");

        Assert.Equal("500 Internal Server Error", (await frontEnd.AskAsync()).StatusLine);
        Assert.Contains(frontEnd.Server.Logs.All, static log => log is { EventName: "ApplicationError", Exception: InvalidOperationException });
    }
}
