using System.Globalization;
using Microsoft.Extensions.FileProviders;
using SideBySide.Site;

// The same pages for both servers. --server fastcgi | kestrel; --urls; --files FOLDER; --database CONNECTION;
// --middleware common.
var builder = WebApplication.CreateBuilder(args);
builder.Logging.ClearProviders();
if (builder.Configuration["server"] == "fastcgi")
    builder.WebHost.UseFastCgi();
if (builder.Configuration["database"] is { } database)
    builder.Services.AddSingleton(Npgsql.NpgsqlDataSource.Create(database));

var hasMiddleware = builder.Configuration["middleware"] == "common";
if (hasMiddleware)
    CommonMiddleware.AddTo(builder.Services);

var isMvc = builder.Configuration["middleware"] == "mvc";
if (isMvc)
    MvcPage.AddTo(builder.Services);

var app = builder.Build();
if (hasMiddleware)
    CommonMiddleware.Use(app);
if (isMvc)
    MvcPage.Use(app);
if (builder.Configuration["files"] is { } files)
    app.UseStaticFiles(
        new StaticFileOptions { FileProvider = new PhysicalFileProvider(files), RequestPath = "/files" });

app.MapGet("/", () => "Hello, world!");
app.MapGet("/json", () => TypedResults.Json(new { Message = "Hello, world!" }));

if (builder.Configuration["database"] is not null)
{
    app.MapGet("/fortunes", Fortunes.GetPageAsync);
    app.MapGet("/npgsql/{count:int}", Articles.ReadWithNpgsql);
    app.MapGet("/dapper/{count:int}", Articles.ReadWithDapper);
}

app.MapPost("/upload", async (HttpRequest request) =>
{
    var buffer = new byte[64 * 1024];
    long length = 0;
    int read;
    while ((read = await request.Body.ReadAsync(buffer)) > 0)
        length += read;
    return length.ToString(CultureInfo.InvariantCulture);
}).WithMetadata(new Microsoft.AspNetCore.Mvc.DisableRequestSizeLimitAttribute());

app.MapPost("/copy", async (HttpRequest request) =>
{
    await request.Body.CopyToAsync(Stream.Null);
    return "copied";
});

app.MapPost("/form-file", async (HttpRequest request) =>
{
    var form = await request.ReadFormAsync();
    return form.Files[0].Length.ToString(CultureInfo.InvariantCulture);
});

app.MapPost("/echo", (Note note) => note);

app.MapGet("/download/{length:long}", async (long length, HttpResponse response) =>
{
    response.ContentLength = length;
    var block = new byte[64 * 1024];
    for (; length > 0; length -= block.Length)
        await response.Body.WriteAsync(block.AsMemory(0, (int)Math.Min(length, block.Length)));
});

app.MapGet("/block", () =>
{
    Thread.Sleep(50);
    return "blocked";
});

// Unique paths: an order has a number, an article a name.
foreach (var pattern in new[] { "/orders/{name}", "/articles/{name}" })
    app.MapGet(pattern, (string name) =>
    {
        Thread.Sleep(50);
        return name;
    });

foreach (var pattern in new[] { "/short-orders/{name}", "/short-articles/{name}" })
    app.MapGet(pattern, (string name) =>
    {
        Thread.Sleep(20);
        return name;
    });

// The headers that the load generators add.
string[] extraHeaders = [.. Enumerable.Range(1, 60).Select(static i => $"X-Extra-Header-{i}")];
app.MapGet("/headers/{count:int}", (int count, HttpRequest request) =>
{
    var length = 0;
    for (var i = 0; i < count; i++)
        length += request.Headers[extraHeaders[i]].ToString().Length;
    return length.ToString(CultureInfo.InvariantCulture);
});

app.MapGet("/compute", () => Compute(5_000));
app.MapGet("/compute/{microseconds:int}", Compute);

app.MapGet("/garbage", Computation.RunWithGarbage);
app.MapGet("/wait/{microseconds:int}", Computation.Wait);

// All requests wait for the same event, as clients of a news feed do.
var news = new TaskCompletionSource();
app.MapGet("/hold", () => news.Task);
app.Lifetime.ApplicationStopping.Register(news.SetResult);

app.MapGet("/events", async (HttpResponse response, CancellationToken aborted) =>
{
    response.ContentType = "text/event-stream";
    response.Headers["X-Accel-Buffering"] = "no";
    while (!aborted.IsCancellationRequested)
    {
        await response.WriteAsync("data: tick\n\n", aborted);
        await response.Body.FlushAsync(aborted);
        await Task.Delay(TimeSpan.FromSeconds(1), aborted).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
    }
});

// The resources that the process has used so far.
app.MapGet("/cost", () => string.Create(CultureInfo.InvariantCulture,
    $"{GC.GetTotalAllocatedBytes(precise: true)} {GC.GetTotalPauseDuration().TotalMicroseconds} {GC.CollectionCount(0)}"));

if (builder.Configuration["min-threads"] is { } threads)
    ThreadPool.SetMinThreads(int.Parse(threads, CultureInfo.InvariantCulture), 1);
app.Run();

static string Compute(int microseconds)
{
    Computation.Run(microseconds);
    return "computed";
}

internal sealed record Note(string Text);
