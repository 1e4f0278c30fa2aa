using Microsoft.AspNetCore.Mvc;

namespace Mvc.Controllers;

/// <summary>A counter in the session.</summary>
public sealed class VisitsController : Controller
{
    public IActionResult Index()
    {
        var visits = (HttpContext.Session.GetInt32("visits") ?? 0) + 1;
        HttpContext.Session.SetInt32("visits", visits);
        return View(visits);
    }
}
