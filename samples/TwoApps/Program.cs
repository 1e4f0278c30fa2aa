using TwoApps;

// Two applications in one process, which share nothing: each has its own endpoints, path base, services and log
// categories. nginx sends what is below /shop to one and what is below /blog to the other.
await using var shop = new NamedApp("Shop", args, static app =>
{
    app.MapGet("/", (HttpRequest request) => $"The shop, at {request.PathBase}, since {Environment.TickCount64} ms.\n");
});

// The blog keeps running while the shop is down, and vice versa.
await using var blog = new NamedApp("Blog", args, app =>
{
    app.MapGet("/", (HttpRequest request) => $"The blog, at {request.PathBase}.\n");
    app.MapPost("/restart-shop", async () =>
    {
        await shop.StopAsync();
        await shop.StartAsync();
        return "The shop was restarted.\n";
    });
});

await shop.StartAsync();
await blog.StartAsync();
await blog.WaitForShutdownAsync();
