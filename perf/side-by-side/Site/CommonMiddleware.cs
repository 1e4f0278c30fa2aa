using System.Text;
using Microsoft.AspNetCore.Authentication.Cookies;
using Microsoft.AspNetCore.Http.HttpResults;

namespace SideBySide.Site;

/// <summary>Middleware that many applications use: authentication, a session, compression, an output cache.</summary>
internal static class CommonMiddleware
{
    private static readonly string s_page = MakePage();

    public static void AddTo(IServiceCollection services)
    {
        services.AddAuthentication(CookieAuthenticationDefaults.AuthenticationScheme).AddCookie();
        services.AddAuthorization();
        services.AddDistributedMemoryCache();
        services.AddSession();
        services.AddResponseCompression();
        services.AddOutputCache();
    }

    public static void Use(WebApplication app)
    {
        app.UseStaticFiles();
        app.UseRouting();
        app.UseAuthentication();
        app.UseAuthorization();
        app.UseSession();
        app.UseOutputCache();
        // After the cache, which therefore stores the compressed page.
        app.UseResponseCompression();
        app.MapGet("/page", Answer);
        app.MapGet("/cached", Answer).CacheOutput(static policy => policy.SetVaryByHeader("Accept-Encoding"));
    }

    private static ContentHttpResult Answer(HttpContext context)
    {
        var name = context.User.Identity?.Name ?? context.Session.GetString("name") ?? "guest";
        return TypedResults.Content(s_page.Replace("NAME", name, StringComparison.Ordinal), "text/html; charset=utf-8");
    }

    private static string MakePage()
    {
        var page = new StringBuilder(
            "<!DOCTYPE html><html><head><title>Articles</title></head><body><p>Welcome, NAME.</p><ul>");
        for (var i = 0; i < 50; i++)
            page.Append("<li><a href=\"/articles/").Append(i).Append("\">Article ").Append(i).Append("</a></li>");
        return page.Append("</ul></body></html>").ToString();
    }
}
