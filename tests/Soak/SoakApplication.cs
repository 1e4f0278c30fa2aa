using System.Security.Cryptography;
using FastCgi.AspNetCore.Hosting;
using Microsoft.AspNetCore.Hosting.Server;

namespace FastCgi.AspNetCore.Soak;

/// <summary>The application under load, in a separate process.</summary>
internal static class SoakApplication
{
    public const string Hello = "Hello, world!";
    public const int EventCount = 5;

    private static readonly byte[] s_content = MakeContent(1024 * 1024);

    /// <summary>Runs until the process stops.</summary>
    public static void Run(string[] arguments)
    {
        var builder = WebApplication.CreateBuilder();
        builder.Logging.ClearProviders()
            .AddSimpleConsole(static console => console.SingleLine = true)
            .SetMinimumLevel(LogLevel.Warning)
            // The keys for session cookies need not survive the process.
            .AddFilter("Microsoft.AspNetCore.DataProtection", LogLevel.Error);
        builder.WebHost.UseFastCgi(options =>
        {
            foreach (var address in arguments[1..])
                options.Listen(address);
        });
        builder.Services.AddDistributedMemoryCache(static cache => cache.SizeLimit = 1024 * 1024)
            .AddSession(static session => session.IdleTimeout = TimeSpan.FromSeconds(20));
        var app = builder.Build();
        app.UseWhen(static context => context.Request.Path == "/session", static branch => branch.UseSession());
        app.MapMethods("/hello", ["GET", "HEAD"], static () => Hello);
        app.MapPost("/upload", UploadAsync);
        app.MapGet(
            "/download",
            static (int length) => Results.Bytes(s_content.AsMemory(0, length), "application/octet-stream"));
        app.MapGet("/events", SendEventsAsync);
        app.MapGet("/session", static (HttpContext context) =>
        {
            var count = (context.Session.GetInt32("count") ?? 0) + 1;
            context.Session.SetInt32("count", count);
            return $"<p>{count}</p>";
        });
        app.MapGet("/wait", static context => Task.Delay(Timeout.Infinite, context.RequestAborted));
        app.MapGet("/process", static () => $"{Environment.ProcessId}");
        // Otherwise the server uses .NET's sockets, as on other systems.
        ((FastCgiServer)app.Services.GetRequiredService<IServer>()).UsesEpoll &= arguments[0] == "Epoll";
        app.MapGet("/figures", static (IServer server) => GetFigures((FastCgiServer)server));
        app.Run();
    }

    /// <summary>The beginning of each download.</summary>
    public static ReadOnlySpan<byte> GetContent(int length) => s_content.AsSpan(0, length);

    private static async Task<string> UploadAsync(HttpRequest request)
    {
        var buffer = new byte[16 * 1024];
        using var hash = IncrementalHash.CreateHash(HashAlgorithmName.SHA256);
        var total = 0;
        for (int read; (read = await request.Body.ReadAsync(buffer)) > 0; total += read)
            hash.AppendData(buffer, 0, read);
        return $"{total} {Convert.ToHexString(hash.GetHashAndReset())}";
    }

    private static async Task SendEventsAsync(HttpContext context)
    {
        context.Response.ContentType = "text/event-stream";
        for (var i = 0; i < EventCount; i++)
        {
            await context.Response.WriteAsync($"data: {i}\n\n");
            await context.Response.Body.FlushAsync();
        }
    }

    /// <summary>The resources in use after a garbage collection, with only this request active.</summary>
    private static string GetFigures(FastCgiServer server)
    {
        for (var i = 0; i < 2; i++)
        {
            GC.Collect();
            GC.WaitForPendingFinalizers();
        }

        var buffers = server.Connections!.Server.Buffers;
        return $"{GC.GetTotalMemory(forceFullCollection: true)} {buffers.RentedCount} {buffers.AllocatedBytes} "
            + $"{server.Connections.Count}";
    }

    private static byte[] MakeContent(int length)
    {
        var bytes = new byte[length];
        for (var i = 0; i < length; i++)
            bytes[i] = (byte)((i * 31) ^ (i >> 8));
        return bytes;
    }
}
