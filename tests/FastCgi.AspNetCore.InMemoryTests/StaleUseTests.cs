namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>Objects kept after the request never touch the next request; bodies throw.</summary>
public sealed class StaleUseTests
{
    /// <summary>A pending read that the application does not await.</summary>
    [Fact]
    [Trait("Contract", "E4b")]
    [Trait("Contract", "T28")]
    public async Task RequestBody_ReadThatWaitsAtTheEnd_FailsAndTheNextBodyIsWhole()
    {
        Task? read = null;
        await using var server = await TestServer.StartAsync(context =>
        {
            if (context.Request.Path != "/first")
                return Apps.BodyHash(context);

            read = context.Request.Body.ReadAsync(new byte[10]).AsTask();
            return Apps.Hello(context);
        });
        var body = Apps.Pattern(20_000);
        for (var i = 0; i < 40; i++)
        {
            var first = server.Connect();
            await first.AskAsync(RecordBytes.Post(1, "/first", body)[..^(body.Length + 16)]);
            await Assert.ThrowsAsync<ObjectDisposedException>(() => read!.Within("the read"));

            var next = server.Connect();
            Assert.Equal(Apps.HashOf(body), (await next.AskAsync(RecordBytes.Post(1, "/next", body))).Text);
        }
    }
}
