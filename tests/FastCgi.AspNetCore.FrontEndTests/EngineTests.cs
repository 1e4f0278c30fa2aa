namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>The tests run on the engine that they are told to, so that what passes on one is not taken for the other.</summary>
public sealed class EngineTests(ITestOutputHelper output) : FrontEndTest(output)
{
    [Theory, EveryFrontEnd(Kinds = [FrontEndKind.Nginx, FrontEndKind.Apache])]
    public async Task Get_EngineOfTheEnvironment_IsTheOneThatAnswers(FrontEndSetup setup)
    {
        var site = await StartAsync(setup, app => app.MapGet("/", () => Thread.CurrentThread.Name ?? ""));

        var thread = await site.Client.GetStringAsync("/");

        // Only epoll has threads of its own that run the application.
        var isSocket = Environment.GetEnvironmentVariable("FastCgi__Transport__Engine") == nameof(FastCgiTransportEngine.Socket);
        Assert.Equal(isSocket ? ".NET TP Worker" : "FastCgi application", thread);
    }
}
