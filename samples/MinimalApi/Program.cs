using System.Globalization;
using System.Runtime.CompilerServices;
using System.Security.Cryptography;
using Microsoft.AspNetCore.DataProtection;

var builder = WebApplication.CreateBuilder(args);
builder.WebHost.UseFastCgi(); // The one line that differs from the Kestrel version.
if (builder.Configuration["KeyFolder"] is { } folder) // Shared by all instances, so that each reads the cookies of the others.
    builder.Services.AddDataProtection().SetApplicationName("app").PersistKeysToFileSystem(new DirectoryInfo(folder));

var app = builder.Build();

app.MapGet("/", () => "An ASP.NET Core application behind FastCGI. Try /whoami, /orders, /upload, /download/1000000 and /ticks.\n");

// What the application knows about a request, for any method and any path below /whoami.
app.Map("/whoami/{**rest}", (HttpContext context) => new
{
    context.Request.Scheme,
    Client = $"{context.Connection.RemoteIpAddress}",
    ClientPort = context.Connection.RemotePort,
    Host = context.Request.Host.Value,
    PathBase = context.Request.PathBase.Value,
    Path = context.Request.Path.Value,
    Query = context.Request.QueryString.Value,
    context.Request.Protocol,
    context.Request.Method,
});

// JSON in and out.
app.MapPost("/orders", (Order order) => order.Quantity > 0
    ? Results.Ok(new Receipt(order.Item, order.Quantity, order.Quantity * order.Price))
    : Results.BadRequest("The quantity must be positive."));

// An upload, hashed as it arrives and never held in memory. (FastCgi:Limits:MaxRequestBodySize limits it, as in Kestrel: 30 MB.)
app.MapPost("/upload", async (Stream body, CancellationToken aborted) =>
{
    using var hash = IncrementalHash.CreateHash(HashAlgorithmName.SHA256);
    var buffer = new byte[64 * 1024];
    long size = 0;
    int read;
    while ((read = await body.ReadAsync(buffer, aborted)) > 0)
    {
        hash.AppendData(buffer, 0, read);
        size += read;
    }

    return new { Size = size, Sha256 = Convert.ToHexStringLower(hash.GetHashAndReset()) };
});

// A download of any size, generated no faster than the client receives it.
app.MapGet("/download/{size:long:min(0)}", async (long size, HttpResponse response, CancellationToken aborted) =>
{
    response.ContentType = "application/octet-stream";
    response.ContentLength = size;
    var block = new byte[64 * 1024];
    for (var left = size; left > 0; left -= block.Length)
        await response.Body.WriteAsync(block.AsMemory(0, (int)Math.Min(left, block.Length)), aborted);
});

// Server-sent events, each sent when it happens.
app.MapGet("/ticks", (int? count, CancellationToken aborted) => TypedResults.ServerSentEvents(Ticks(count ?? int.MaxValue, aborted), "tick"));

app.Run();

static async IAsyncEnumerable<string> Ticks(int count, [EnumeratorCancellation] CancellationToken aborted)
{
    for (var i = 1; i <= count; i++)
    {
        await Task.Delay(TimeSpan.FromSeconds(0.5), aborted);
        yield return i.ToString(CultureInfo.InvariantCulture);
    }
}

internal sealed record Order(string Item, int Quantity, decimal Price);

internal sealed record Receipt(string Item, int Quantity, decimal Total);
