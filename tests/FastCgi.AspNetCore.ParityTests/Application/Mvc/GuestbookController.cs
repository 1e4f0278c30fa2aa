namespace FastCgi.AspNetCore.ParityTests.Application.Mvc;

/// <summary>
/// Pages of MVC: views, tag helpers, a form with an antiforgery token, model errors, and TempData over a redirect.
/// </summary>
[Route("guestbook")]
public sealed class GuestbookController : Controller
{
    [HttpGet("")]
    public IActionResult Show() => View(new GuestbookEntry());

    [HttpPost("")]
    [ValidateAntiForgeryToken]
    public IActionResult Sign(GuestbookEntry entry)
    {
        if (!ModelState.IsValid)
            return View(nameof(Show), entry);
        TempData["Message"] = $"Thank you, {entry.Name}.";
        return RedirectToAction(nameof(Show));
    }

    [HttpPost("picture")]
    [RequestFormLimits(MultipartBodyLengthLimit = 100_000)]
    public async Task<IActionResult> UploadAsync(IFormFile picture, [FromForm] string caption)
    {
        using var content = new MemoryStream();
        await picture.CopyToAsync(content);
        return File(content.ToArray(), "image/png", $"{caption}.png");
    }
}

public sealed class GuestbookEntry
{
    [Required]
    [StringLength(20, MinimumLength = 2)]
    public string? Name { get; set; }

    [Range(1, 5)]
    public int Stars { get; set; } = 5;

    [DataType(DataType.MultilineText)]
    public string? Text { get; set; }
}
