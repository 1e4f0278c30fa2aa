using Microsoft.AspNetCore.Mvc;

namespace SideBySide.Site;

/// <summary>A typical MVC page: a layout, a form with an antiforgery token, and a counter in the session.</summary>
internal static class MvcPage
{
    public static void AddTo(IServiceCollection services)
    {
        services.AddDistributedMemoryCache();
        services.AddSession();
        services.AddControllersWithViews();
    }

    public static void Use(WebApplication app)
    {
        app.UseSession();
        app.MapControllers();
    }
}

/// <summary>The controller of the page.</summary>
public sealed class FormController : Controller
{
    /// <summary>Shows the form.</summary>
    [HttpGet("/form")]
    public IActionResult Index()
    {
        var count = HttpContext.Session.GetInt32("count") ?? 0;
        HttpContext.Session.SetInt32("count", count + 1);
        return View(count);
    }
}
