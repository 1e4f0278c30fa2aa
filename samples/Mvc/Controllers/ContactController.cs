using Microsoft.AspNetCore.Mvc;
using Mvc.Models;

namespace Mvc.Controllers;

/// <summary>A form with an antiforgery token and validation, answered by a redirect.</summary>
public sealed class ContactController : Controller
{
    public IActionResult Index() => View();

    [HttpPost]
    [ValidateAntiForgeryToken]
    public IActionResult Index(ContactForm form)
    {
        if (!ModelState.IsValid)
            return View(form);

        TempData["Thanks"] = $"Thank you, {form.Name}. We received {form.Message.Length} characters.";
        return RedirectToAction(nameof(Index));
    }
}
