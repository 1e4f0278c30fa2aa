namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>Whether a request can have a body, before any of it arrived and without CONTENT_LENGTH.</summary>
public sealed class BodyDetectionTests
{
    [Theory]
    [InlineData(false, "GET", "HEAD", "DELETE", "OPTIONS", "TRACE", "CONNECT")]
    [InlineData(true, "POST", "PUT", "PATCH", "PROPFIND", "GET chunked", "GET x", "POST x")]
    [InlineData(false, "GET end", "POST end", "POST 0", "POST 0 chunked")]
    public async Task CanHaveBody_ByMethodUntilMoreIsKnown(bool expected, params string[] requests)
    {
        foreach (var request in requests)
            Assert.Equal(expected, await AskAsync(request.Split(' ')[0], request.Split(' ')[1..]));
    }

    private static async Task<bool> AskAsync(string method, string[] body)
    {
        var go = Waiting.Signal();
        var answer = Waiting.Signal<bool>();
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            await go.Task;
            answer.SetResult(context.Features.GetRequiredFeature<IHttpRequestBodyDetectionFeature>().CanHaveBody);
        });
        (string, string)[] more =
        [
            .. body.Contains("0") ? [("CONTENT_LENGTH", "0")] : Array.Empty<(string, string)>(),
            .. body.Contains("chunked") ? [("HTTP_TRANSFER_ENCODING", "chunked")] : Array.Empty<(string, string)>(),
        ];
        frontEnd.Send(RecordBytes.Begin(), RecordBytes.ParamsStream(1, RecordBytes.RequestParams(method, "/", more)));
        if (body is ["x"])
            frontEnd.Send(RecordBytes.Record(RecordBytes.Stdin, 1, "x"u8));
        if (body is ["end"])
            frontEnd.Send(RecordBytes.Record(RecordBytes.Stdin, 1));

        go.SetResult();
        var canHaveBody = await answer.Task.Within("the application");
        if (body is not ["end"])
            frontEnd.Send(RecordBytes.Record(RecordBytes.Stdin, 1));
        await frontEnd.ReadResponseAsync();
        return canHaveBody;
    }
}
