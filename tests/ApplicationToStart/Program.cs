using System.Diagnostics;
using System.Security.Cryptography;
using FastCgi.AspNetCore.Diagnostics;
using FastCgi.AspNetCore.Hosting;
using Microsoft.AspNetCore.DataProtection;
using Microsoft.AspNetCore.Hosting.Server;

// The application that web servers, spawn-fcgi, and systemd start in the process tests, which look for violations of
// the server's invariants in its output.
AppDomain.CurrentDomain.FirstChanceException += static (_, thrown) =>
{
    if (thrown.Exception is InvariantException)
        Console.Error.WriteLine(thrown.Exception);
};
var builder = WebApplication.CreateBuilder(args);
builder.WebHost.UseFastCgi();
// The keys of sessions are stored as they are.
builder.Logging.AddFilter("Microsoft.AspNetCore.DataProtection", LogLevel.Error);
builder.Services.AddDistributedMemoryCache(static cache => cache.SizeLimit = 1024 * 1024)
    .AddSession(static session => session.IdleTimeout = TimeSpan.FromSeconds(20));
var app = builder.Build();

// For tests of the sockets of other systems.
((FastCgiServer)app.Services.GetRequiredService<IServer>()).UsesEpoll
    &= Environment.GetEnvironmentVariable("APPLICATION_ENGINE") != "Socket";

// For mod_fcgid, which passes its own name of the role.
app.MapFastCgiAuthorizer("/{**path}", static context =>
{
    var user = context.GetServerVariable("REMOTE_USER");
    return ValueTask.FromResult(context.GetServerVariable("FCGI_APACHE_ROLE") switch
    {
        "ACCESS_CHECKER" => context.Request.Query["key"] == "secret",
        "AUTHENTICATOR" => user == "ann" && context.GetServerVariable("REMOTE_PASSWD") == "secret",
        "AUTHORIZER" => user == "ann" && context.Request.Path != "/reports/closed.txt",
        _ => false,
    });
});

app.MapGet("/process", () => Environment.ProcessId);

// With keys in the user's home, which all processes share.
app.MapGet("/protect", () => CreateProtector().Protect("a secret"));
app.MapGet("/unprotect/{ticket}", (string ticket) => CreateProtector().Unprotect(ticket));

app.MapGet("/console", () =>
{
    Console.WriteLine("to standard output");
    Console.Error.WriteLine("to standard error");
});

// For the fault tests.
app.MapGet("/bytes/{count}", async (int count, HttpContext context) =>
{
    var block = new byte[16 * 1024];
    for (var i = 0; i < block.Length; i++)
        block[i] = (byte)i;
    for (; count > 0; count -= block.Length)
        await context.Response.Body.WriteAsync(block.AsMemory(0, Math.Min(count, block.Length)));
});

// A response that begins and never ends.
app.MapGet("/endless/{count}", async (int count, long? length, HttpContext context) =>
{
    context.Response.ContentLength = length;
    var block = new byte[Math.Min(count, 64 * 1024)];
    await context.Response.Body.WriteAsync(block);
    // The response is held until the handler yields.
    await Task.Delay(50);
    Console.WriteLine($"Process {Environment.ProcessId} has begun a response.");
    for (var rest = count - block.Length; rest > 0; rest -= block.Length)
        await context.Response.Body.WriteAsync(block);
    await Task.Delay(Timeout.Infinite, context.RequestAborted);
});

app.MapGet(
    "/file", static (HttpContext context) => context.Response.SendFileAsync(typeof(FastCgiServer).Assembly.Location));

app.MapGet("/block/{milliseconds}", (int milliseconds) =>
{
    Thread.Sleep(milliseconds);
    return "awake";
});

// Handlers that block after an await use up the threads of .NET's pool.
app.MapGet("/starve/{seconds}", (int seconds) =>
{
    var end = Environment.TickCount64 + 1_000 * seconds;
    for (var i = 0; i < 2_000; i++)
        _ = Task.Run(() => Thread.Sleep((int)Math.Max(0, end - Environment.TickCount64)));
});

// Stops only the server: the host itself needs .NET's pool.
app.MapGet("/stop/{seconds}", (int seconds, IServer server) => new Thread(() =>
{
    using var timeout = new CancellationTokenSource(TimeSpan.FromSeconds(seconds));
    var watch = Stopwatch.StartNew();
    server.StopAsync(timeout.Token).GetAwaiter().GetResult();
    Console.WriteLine($"The server has stopped after {watch.ElapsedMilliseconds} ms.");
}).Start());

app.MapGet("/peer", (HttpContext context) => context.Connection.RemoteIpAddress?.ToString() ?? "none");

// Each thread of .NET keeps a pipe, so it needs two descriptors, and without them .NET ends the process: a test that
// takes them all has the threads started before.
app.MapGet("/start-threads", () =>
{
    const int Count = 32;
    ThreadPool.GetMinThreads(out var workers, out var completions);
    ThreadPool.SetMinThreads(2 * Count, completions);
    using var all = new Barrier(Count);
    Task.WaitAll(Enumerable.Range(0, Count).Select(_ => Task.Run(() => all.SignalAndWait(TimeSpan.FromSeconds(30)))));
    ThreadPool.SetMinThreads(workers, completions);
    return "started";
});

// Resources in use, including this request: process, connections, requests, buffers.
app.MapGet("/state", (IServer server) =>
{
    var connections = ((FastCgiServer)server).Connections!;
    return string.Join(
        ' ',
        Environment.ProcessId,
        connections.Count,
        connections.CountRequests(),
        connections.Server.Buffers.RentedCount);
});

app.MapGet("/collect", () =>
{
    GC.Collect(2, GCCollectionMode.Aggressive, blocking: true, compacting: true);
    return GC.GetTotalMemory(forceFullCollection: false);
});

// For the soak test.
app.UseWhen(static context => context.Request.Path == "/session", static branch => branch.UseSession());
app.MapGet("/session", static (HttpContext context) =>
{
    var count = (context.Session.GetInt32("count") ?? 0) + 1;
    context.Session.SetInt32("count", count);
    return count;
});
app.MapGet("/events", static () => TypedResults.ServerSentEvents(Enumerable.Range(0, 5).ToAsyncEnumerable()));
app.MapGet("/wait", static context => Task.Delay(Timeout.Infinite, context.RequestAborted));
app.MapGet("/missing", static () => Results.NotFound());
app.MapGet("/whoami/{number}", static (HttpRequest request) => new { path = request.Path.Value });
app.MapPost("/orders", static (Order order) => new { total = order.Quantity * order.Price });

// Describes the request.
app.MapFallback(async (HttpContext context) =>
{
    var body = new MemoryStream();
    await context.Request.Body.CopyToAsync(body);
    return Results.Text(string.Join(
        ' ', context.Request.Method, context.Request.Scheme, context.Request.Host.Host, context.Request.PathBase.Value,
        context.Request.Path.Value, context.Request.QueryString.Value, context.Connection.RemoteIpAddress,
        context.Request.Headers.Authorization,
        context.Connection.ClientCertificate?.GetCertHashString(),
        Convert.ToHexString(SHA256.HashData(body.ToArray()))));
});

app.Run();

static IDataProtector CreateProtector()
    => DataProtectionProvider.Create("ApplicationToStart").CreateProtector("tickets");

internal sealed record Order(string Item, int Quantity, int Price);
