namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>Whether a request can have a body, before any of it arrived and without CONTENT_LENGTH.</summary>
public sealed class BodyDetectionTests
{
    [Theory]
    [InlineData(false, "GET", "HEAD", "DELETE", "OPTIONS", "TRACE", "CONNECT")]
    [InlineData(true, "POST", "PUT", "PATCH", "PROPFIND", "GET chunked", "GET x", "POST x")]
    [InlineData(false, "GET end", "POST end")]
    public async Task CanHaveBody_ByMethodUntilMoreIsKnown(bool expected, params string[] requests)
    {
        foreach (var request in requests)
            Assert.Equal(expected, await AskAsync(request.Split(' ')[0], request.Split(' ').ElementAtOrDefault(1)));
    }

    private static async Task<bool> AskAsync(string method, string? body)
    {
        var go = Waiting.Signal();
        var answer = Waiting.Signal<bool>();
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            await go.Task;
            answer.SetResult(context.Features.GetRequiredFeature<IHttpRequestBodyDetectionFeature>().CanHaveBody);
        });
        (string Name, string Value)[] more = body == "chunked" ? [("HTTP_TRANSFER_ENCODING", "chunked")] : [];
        frontEnd.Send(RecordBytes.Begin(), RecordBytes.ParamsStream(1, RecordBytes.RequestParams(method, "/", more)));
        if (body == "x")
            frontEnd.Send(RecordBytes.Record(RecordBytes.Stdin, 1, "x"u8));
        if (body == "end")
            frontEnd.Send(RecordBytes.Record(RecordBytes.Stdin, 1));

        go.SetResult();
        var canHaveBody = await answer.Task.Within("the application");
        if (body != "end")
            frontEnd.Send(RecordBytes.Record(RecordBytes.Stdin, 1));
        await frontEnd.ReadResponseAsync();
        return canHaveBody;
    }
}
