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

    /// <summary>As on Kestrel behind the same web servers, which pass no length of 0 on to it.</summary>
    [Theory]
    [InlineData("GET", null)]
    [InlineData("HEAD", null)]
    [InlineData("DELETE", null)]
    [InlineData("OPTIONS", null)]
    [InlineData("POST", "0")]
    [InlineData("PUT", "0")]
    public async Task Length_Zero_IsThatOfAMethodWithBody(string method, string? expected)
    {
        var seen = Waiting.Signal<string>();
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            var request = context.Request;
            var detection = context.Features.GetRequiredFeature<IHttpRequestBodyDetectionFeature>();
            var length = await request.Body.ReadAsync(new byte[1]);
            seen.SetResult($"{request.ContentLength} {request.Headers.ContentLength} "
                + $"{request.Headers["Content-Length"]} {request.Headers.ContainsKey("Content-Length")} "
                + $"{request.Headers.Any(static header => header.Key == "Content-Length")} "
                + $"{request.Headers.TransferEncoding} {detection.CanHaveBody} {length}");
        });
        // Without the end of STDIN, which HAProxy does not always send.
        frontEnd.Send(RecordBytes.Begin(), RecordBytes.ParamsStream(1, RecordBytes.RequestParams(
            method, "/", ("CONTENT_LENGTH", "0"), ("HTTP_TRANSFER_ENCODING", "chunked"))));

        Assert.Equal(
            $"{expected} {expected} {expected} {expected is not null} {expected is not null}  False 0",
            await seen.Task.Within("the application"));
        await frontEnd.ReadResponseAsync();
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
