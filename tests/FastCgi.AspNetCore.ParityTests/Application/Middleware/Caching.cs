using Microsoft.AspNetCore.OutputCaching;

namespace FastCgi.AspNetCore.ParityTests.Application.Middleware;

/// <summary>Responses cached by the two caching middlewares, and session state.</summary>
internal static class Caching
{
    public static void AddCaching(this IServiceCollection services)
    {
        services.AddOutputCache();
        services.AddResponseCaching();
        services.AddDistributedMemoryCache();
        services.AddSession(options => options.Cookie.Name = "session");
        services.AddSingleton<Counter>();
    }

    public static void MapCaching(this IEndpointRouteBuilder app)
    {
        app.MapGet("/output-cache", (Counter counter, HttpResponse response) =>
        {
            response.Headers.ETag = "\"cached\"";
            return counter.Next("output");
        }).CacheOutput(policy => policy.SetVaryByQuery("key").Expire(TimeSpan.FromHours(1)).Tag("all"));
        app.MapPost(
            "/output-cache/evict",
            async (IOutputCacheStore store) => await store.EvictByTagAsync("all", CancellationToken.None));
        app.MapGet("/response-cache", (Counter counter, HttpResponse response) =>
        {
            response.Headers.CacheControl = "public, max-age=3600";
            response.Headers.Vary = "Accept-Language";
            return counter.Next("response");
        });

        app.MapGet("/session/{name}", async (string name, HttpContext context) =>
        {
            await context.Session.LoadAsync();
            var visits = (context.Session.GetInt32(name) ?? 0) + 1;
            context.Session.SetInt32(name, visits);
            return $"{name}: {visits}, keys: {string.Join(' ', context.Session.Keys)}";
        });
    }

    /// <summary>Distinguishes a new response from a cached one.</summary>
    private sealed class Counter
    {
        private readonly Dictionary<string, int> _counts = [];

        public string Next(string name)
        {
            lock (_counts)
                return (_counts[name] = _counts.GetValueOrDefault(name) + 1).ToString(CultureInfo.InvariantCulture);
        }
    }
}
