using System.Security.Claims;
using Microsoft.AspNetCore.Authentication;
using Microsoft.AspNetCore.Authentication.Cookies;
using Microsoft.AspNetCore.Authorization;
using Microsoft.AspNetCore.Mvc;
using Mvc.Models;

namespace Mvc.Controllers;

/// <summary>Signs in and out with a cookie; the index is a page for those who are signed in.</summary>
public sealed class AccountController : Controller
{
    // A sample knows one password; an application asks its user store.
    private const string Password = "fastcgi";

    [Authorize]
    public IActionResult Index() => View();

    public IActionResult Login() => View();

    [HttpPost]
    [ValidateAntiForgeryToken]
    public async Task<IActionResult> Login(LoginForm form, string? returnUrl)
    {
        if (ModelState.IsValid && form.Password != Password)
            ModelState.AddModelError(nameof(form.Password), "The password is wrong.");

        if (!ModelState.IsValid)
            return View(form);

        var identity = new ClaimsIdentity(
            [new Claim(ClaimTypes.Name, form.Name)], CookieAuthenticationDefaults.AuthenticationScheme);
        await HttpContext.SignInAsync(new ClaimsPrincipal(identity));
        return Url.IsLocalUrl(returnUrl) ? LocalRedirect(returnUrl) : RedirectToAction(nameof(Index));
    }

    [HttpPost]
    [ValidateAntiForgeryToken]
    public async Task<IActionResult> Logout()
    {
        await HttpContext.SignOutAsync();
        return RedirectToAction("Index", "Home");
    }
}
