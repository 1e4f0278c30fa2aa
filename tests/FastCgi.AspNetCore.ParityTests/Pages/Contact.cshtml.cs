using Microsoft.AspNetCore.Mvc.RazorPages;

namespace FastCgi.AspNetCore.ParityTests.Pages;

public sealed class ContactModel : PageModel
{
    [BindProperty(SupportsGet = true)]
    public string? Topic { get; set; }

    [BindProperty]
    [Required(ErrorMessage = "Ask something.")]
    public string? Question { get; set; }

    [TempData]
    public string? Message { get; set; }

    public IActionResult OnPost()
    {
        if (!ModelState.IsValid)
            return Page();
        Message = $"You asked: {Question}";
        return RedirectToPage(new { Topic });
    }

    public IActionResult OnPostCancel() => RedirectToPage("/Contact", new { Topic = "nothing" });
}
