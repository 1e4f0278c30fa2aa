namespace FastCgi.AspNetCore.SocketTests.Hosting;

/// <summary>Requests see neither the execution context in which the host started nor that of another request.</summary>
[Collection(Alone.Name)]
public sealed class StartContextTests : HostTest
{
    [Theory, EveryEngine]
    [Contract("A8", "T30")]
    public async Task Request_HostStartedWithAnAsyncLocal_DoesNotSeeIt(Engine engine)
    {
        var local = new AsyncLocal<string> { Value = "of the start" };
        await using var app = Build(engine);
        app.MapFallback(async context =>
        {
            var seen = local.Value ?? "none";
            local.Value = "of a request";
            await Task.Yield();
            await context.Response.WriteAsync(seen);
        });
        await app.StartAsync();

        for (var i = 0; i < 10; i++)
            Assert.Equal("none", await FastCgiClient.GetAsync(Address, "/local"));
    }
}
