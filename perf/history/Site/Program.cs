using System.Globalization;
using History.Site;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Hosting.Server.Features;
using Microsoft.AspNetCore.Http.Features;

// One application for all records. --server fastcgi | kestrel | httplistener; --urls; --raw true: a handler below
// ASP.NET Core;
// --session true; --database CONNECTION; --min-threads WORKERS,IO.
var builder = WebApplication.CreateBuilder(args);
builder.Logging.ClearProviders();
var settings = builder.Configuration;
if (settings["min-threads"]?.Split(',') is [var workers, var io])
    ThreadPool.SetMinThreads(
        int.Parse(workers, CultureInfo.InvariantCulture), int.Parse(io, CultureInfo.InvariantCulture));
if (settings["server"] == "httplistener")
{
    await ListenerServer.RunAsync(settings["urls"]!);
    return;
}

if (settings["server"] == "fastcgi")
    builder.WebHost.UseFastCgi();
var hasSession = settings["session"] is not null;
if (hasSession)
    SessionPage.AddTo(builder.Services);
if (settings["database"] is { } database)
    builder.Services.AddSingleton(Npgsql.NpgsqlDataSource.Create(database));
var app = builder.Build();
if (settings["raw"] is not null)
{
    var server = app.Services.GetRequiredService<IServer>();
    foreach (var url in settings["urls"]!.Split(';'))
        server.Features.GetRequiredFeature<IServerAddressesFeature>().Addresses.Add(url);
    await server.StartAsync(new RawApplication(), CancellationToken.None);
    await Task.Delay(Timeout.Infinite);
}

if (hasSession)
    SessionPage.Use(app);
if (settings["database"] is not null)
    app.MapGet("/products", ProductsPage.GetAsync);
app.MapGet("/", () => Pages.Hello);
app.MapGet("/json", () => TypedResults.Json(new Greeting("Hello, world!")));
app.MapGet("/block", () =>
{
    Thread.Sleep(50);
    return "blocked";
});
app.MapGet("/hold", Pages.HoldAsync);
app.MapGet("/figures", Pages.ReadFigures);
app.MapGet("/comparers", (HttpRequest request) =>
    Comparers.Measure(request.Headers, settings["server"] == "fastcgi" ? "FastCgi.AspNetCore" : "Kestrel"));
app.Run();

internal sealed record Greeting(string Message);
