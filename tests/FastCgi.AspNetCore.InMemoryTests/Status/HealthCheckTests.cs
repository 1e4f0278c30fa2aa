using FastCgi.AspNetCore.Status;
using Microsoft.Extensions.Diagnostics.HealthChecks;

namespace FastCgi.AspNetCore.InMemoryTests.Status;

/// <summary>Whether there is room, up to the last place of each limit.</summary>
public sealed class HealthCheckTests
{
    [Fact]
    public async Task Check_AnotherServer_IsHealthy()
    {
        using var none = new ServiceCollection().BuildServiceProvider();

        var result = await CheckAsync(none);

        Assert.Equal((HealthStatus.Healthy, "The application does not use FastCgi.AspNetCore."), (result.Status, result.Description));
    }

    [Fact]
    public async Task Check_BeforeTheStartAndAfterTheStop_IsTheStatusOfTheRegistration()
    {
        await using var run = ServerRun.Make(Apps.Hello);
        Assert.Equal(HealthStatus.Unhealthy, (await CheckAsync(run.Host.Services)).Status);
        Assert.Equal(HealthStatus.Degraded, (await CheckAsync(run.Host.Services, HealthStatus.Degraded)).Status);
        await run.Host.StartAsync();
        Assert.Equal((HealthStatus.Healthy, "The FastCGI server is below its limits."), Of(await CheckAsync(run.Host.Services)));

        await run.Host.StopAsync();

        Assert.Equal((HealthStatus.Unhealthy, "The FastCGI server has not started, or is stopping."), Of(await CheckAsync(run.Host.Services)));
    }

    [Fact]
    public async Task Check_Connections_LastPlaceIsTheLimit()
    {
        await using var run = await ServerRun.StartAsync(Apps.Hello, static options => options.Limits.MaxConcurrentConnections = 2);
        run.Connect();
        Assert.Equal(HealthStatus.Healthy, (await CheckAsync(run.Host.Services)).Status);

        run.Connect();

        var result = await CheckAsync(run.Host.Services);
        Assert.Equal((HealthStatus.Degraded, "The FastCGI server is at its limit: MaxConcurrentConnections is 2."), Of(result));
        Assert.Equal(2L, result.Data["active_connections"]);
    }

    [Theory, Values(0, 2)]
    public async Task Check_Requests_LastPlaceOfTheQueueIsTheLimit(int queue)
    {
        var go = Waiting.Signal();
        await using var run = await ServerRun.StartAsync(async _ => await go.Task, options =>
        {
            options.Limits.MaxConcurrentConnections = null;
            options.Limits.MaxConcurrentRequests = 2;
            options.Limits.RequestQueueLimit = queue;
        });
        for (var i = 0; i < 1 + queue; i++)
            run.Connect().Send(RecordBytes.Get());
        Assert.Equal(HealthStatus.Healthy, (await CheckAsync(run.Host.Services)).Status);

        run.Connect().Send(RecordBytes.Get());

        var result = await CheckAsync(run.Host.Services);
        Assert.Equal((HealthStatus.Degraded, "The FastCGI server is at its limit: MaxConcurrentRequests is 2."), Of(result));
        Assert.Equal(
            $"active_connections={2 + queue} active_requests={2 + queue} queued_requests={queue} requests_without_thread=0",
            string.Join(' ', result.Data.OrderBy(static pair => pair.Key).Select(static pair => $"{pair.Key}={pair.Value}")));
        go.SetResult();
    }

    [Fact]
    public async Task Check_NoLimits_IsHealthyWithData()
    {
        var go = Waiting.Signal();
        await using var run = await ServerRun.StartAsync(async _ => await go.Task, static options =>
        {
            options.Limits.MaxConcurrentConnections = null;
            options.Limits.MaxConcurrentRequests = null;
        });
        for (var i = 0; i < 3; i++)
            run.Connect().Send(RecordBytes.Get());

        var result = await CheckAsync(run.Host.Services);

        Assert.Equal(HealthStatus.Healthy, result.Status);
        Assert.Equal(3L, result.Data["active_requests"]);
        go.SetResult();
    }

    private static (HealthStatus, string?) Of(HealthCheckResult result) => (result.Status, result.Description);

    private static Task<HealthCheckResult> CheckAsync(IServiceProvider services, HealthStatus failure = HealthStatus.Unhealthy)
    {
        var check = new FastCgiHealthCheck(services);
        return check.CheckHealthAsync(new HealthCheckContext { Registration = new HealthCheckRegistration("fastcgi", check, failure, null) });
    }
}
