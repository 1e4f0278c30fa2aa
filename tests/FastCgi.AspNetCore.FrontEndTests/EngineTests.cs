namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>The environment selects the engine, so that the results of one are not attributed to the other.</summary>
public sealed class EngineTests(ITestOutputHelper output) : FrontEndTest(output)
{
    [Theory, EveryFrontEnd(Kinds = [FrontEndKind.Nginx, FrontEndKind.Apache])]
    public async Task Get_EngineOfTheEnvironment_IsTheOneThatAnswers(FrontEndSetup setup)
    {
        var site = await StartAsync(setup, app => app.MapGet("/", () => Thread.CurrentThread.Name ?? ""));

        var thread = await site.Client.GetStringAsync("/");

        // Only the epoll engine has its own threads, which run the application.
        var isSocket = Environment.GetEnvironmentVariable(
            "FastCgi__Transport__Engine") == nameof(FastCgiTransportEngine.Socket);
        Assert.Equal(isSocket ? ".NET TP Worker" : "FastCgi application", thread);
    }
}
