using System.IO.Compression;
using Microsoft.AspNetCore.ResponseCompression;

namespace FastCgi.AspNetCore.ParityTests.Application.Middleware;

/// <summary>Compressed responses, for clients that accept them, and requests that come compressed.</summary>
internal static class Compression
{
    public static void AddCompression(this IServiceCollection services)
    {
        services.AddResponseCompression(options => options.EnableForHttps = true);
        services.Configure<BrotliCompressionProviderOptions>(options => options.Level = CompressionLevel.Fastest);
        services.AddRequestDecompression();
    }

    public static void UseCompression(this IApplicationBuilder app)
    {
        app.UseResponseCompression();
        app.UseRequestDecompression();
    }
}
