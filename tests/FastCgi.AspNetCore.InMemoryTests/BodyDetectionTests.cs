namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>Whether a request can have a body while nothing but its params has come, and no CONTENT_LENGTH: a front-end that streams is at work.</summary>
public sealed class BodyDetectionTests
{
    [Theory]
    [InlineData("GET", false)]
    [InlineData("HEAD", false)]
    [InlineData("DELETE", false)]
    [InlineData("OPTIONS", false)]
    [InlineData("TRACE", false)]
    [InlineData("CONNECT", false)]
    [InlineData("POST", true)]
    [InlineData("PUT", true)]
    [InlineData("PATCH", true)]
    [InlineData("PROPFIND", true)]
    public async Task CanHaveBody_NothingCameYet_IsToldByTheMethod(string method, bool expected)
        => Assert.Equal(expected, await AskAsync(RecordBytes.RequestParams(method)));

    [Fact]
    public async Task CanHaveBody_TransferEncoding_True()
        => Assert.True(await AskAsync(RecordBytes.RequestParams("GET", "/", ("HTTP_TRANSFER_ENCODING", "chunked"))));

    [Theory, Values("GET", "POST")]
    public async Task CanHaveBody_SomeOfItCame_True(string method)
        => Assert.True(await AskAsync(RecordBytes.RequestParams(method), RecordBytes.Record(RecordBytes.Stdin, 1, "x"u8)));

    [Theory, Values("GET", "POST")]
    public async Task CanHaveBody_EndedWithoutAByte_False(string method)
        => Assert.False(await AskAsync(RecordBytes.RequestParams(method), RecordBytes.Record(RecordBytes.Stdin, 1)));

    private static async Task<bool> AskAsync((string Name, string Value)[] parameters, byte[]? body = null)
    {
        var go = Waiting.Signal();
        var answer = Waiting.Signal<bool>();
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            await go.Task;
            answer.SetResult(context.Features.GetRequiredFeature<IHttpRequestBodyDetectionFeature>().CanHaveBody);
        });
        frontEnd.Send(RecordBytes.Begin(), RecordBytes.ParamsStream(1, parameters));
        if (body is not null)
            frontEnd.Send(body);

        go.SetResult();
        var canHaveBody = await answer.Task.Within("the application");
        if (body is not { Length: 8 })
            frontEnd.Send(RecordBytes.Record(RecordBytes.Stdin, 1));
        await frontEnd.ReadResponseAsync();
        return canHaveBody;
    }
}
