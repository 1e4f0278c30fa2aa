namespace History.Site;

/// <summary>A page that makes a session for each request without a cookie.</summary>
internal static class SessionPage
{
    // About the 15,000 entries of Mono's cache: so the cache evicts during most of the run, as Mono's did.
    private const int CacheSize = 15_000 * 40;

    public static void AddTo(IServiceCollection services)
    {
        services.AddDistributedMemoryCache(static options => options.SizeLimit = CacheSize);
        services.AddSession();
    }

    public static void Use(WebApplication app)
    {
        app.UseSession();
        app.MapGet("/session", static (HttpContext context) =>
        {
            Pages.CountServed();
            context.Session.SetInt32("visits", (context.Session.GetInt32("visits") ?? 0) + 1);
            return Pages.Hello;
        });
    }
}
