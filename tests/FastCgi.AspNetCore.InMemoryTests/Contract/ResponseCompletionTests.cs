namespace FastCgi.AspNetCore.InMemoryTests.Contract;

/// <summary>
/// The end of a response, and OnCompleted after it. If the application completes <c>Response.BodyWriter</c>, the client
/// has its answer, and later writes fail.
/// </summary>
public class ResponseCompletionTests
{
    [Fact]
    public async Task Write_OfAResponseThatCannotStart_IsNotCounted()
    {
        var response = await TestServer.AskAsync(static async context =>
        {
            context.Response.StatusCode = 204;
            context.Response.ContentLength = 5;
            await Assert.ThrowsAsync<InvalidOperationException>(
                () => context.Response.Body.WriteAsync("hello"u8.ToArray()).AsTask());
            context.Response.StatusCode = 200;
            await context.Response.Body.WriteAsync("hello"u8.ToArray());
        });

        Assert.Equal("hello", response.Text);
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

    [Theory]
    [Contract("D7")]
    [InlineData(true, false)]
    [InlineData(false, false)]
    [InlineData(true, true)]
    [InlineData(false, true)]
    public async Task Complete_WithAnException_500OrCut(bool isAsync, bool isStarted)
    {
        var (kestrel, ours) = await Parity.RunAsync(async (context, seen) =>
        {
            var writer = context.Response.BodyWriter;
            if (isStarted)
                await context.Response.WriteAsync("partial");
            await seen.TryAsync("complete", async () =>
            {
                if (isAsync)
                    await writer.CompleteAsync(new FormatException("on purpose"));
                else
                    writer.Complete(new FormatException("on purpose"));
            });
        });

        // How much of an aborted response is sent is undefined.
        Assert.Equal(isStarted, ours.Outcome.IsCut);
        Assert.Equal(
            ["ConnectionAbortedException: The BodyPipe was completed with an exception."], ours.ApplicationErrors);
        Assert.Equal(kestrel.Observed, ours.Observed);
        if (!isStarted)
            Assert.Equal(500, ours.Outcome.Status);

        // Kestrel's CompleteAsync ignores the exception, and ends the response as if all was well.
        Assert.Equal(isAsync ? [] : ours.ApplicationErrors, kestrel.ApplicationErrors);
    }

    [Theory, Values(false, true)]
    [Contract("B8")]
    public async Task OnCompleted_Several_EachCalledLastFirst(bool fails)
    {
        var done = Waiting.Signal();
        var answer = await Parity.AssertAsync(async (context, seen) =>
        {
            var response = context.Response;
            response.OnCompleted(async () =>
            {
                seen.Note("last", $"{response.StatusCode} {context.Request.Path} {context.Items["key"]}");
                await seen.TryAsync("body", () => response.Body.WriteAsync("x"u8.ToArray()).AsTask());
                done.TrySetResult();
            });
            response.OnCompleted(static () => throw new InvalidOperationException("of the callback"));
            response.OnCompleted(Apps.Do(
                () => response.OnCompleted(Apps.Do(() => seen.Note("registered late", "called")))));
            context.Items["key"] = "kept";
            if (fails)
                throw new InvalidOperationException("on purpose");
            await response.WriteAsync("Hello");
        });

        await done.Task.Within("the last callback");
        Assert.Equal("registered late: called", answer.Observed[0]);
        Assert.Equal($"last: {(fails ? 500 : 200)} / kept", answer.Observed[1]);
        Assert.Contains("InvalidOperationException: of the callback", answer.ApplicationErrors);
    }
}
