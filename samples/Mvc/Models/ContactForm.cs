using System.ComponentModel.DataAnnotations;

namespace Mvc.Models;

public sealed class ContactForm
{
    [Required, StringLength(60)]
    public string Name { get; set; } = string.Empty;

    [Required, EmailAddress]
    public string Email { get; set; } = string.Empty;

    [Required, StringLength(1000, MinimumLength = 10)]
    public string Message { get; set; } = string.Empty;
}
