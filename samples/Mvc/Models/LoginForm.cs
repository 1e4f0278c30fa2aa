using System.ComponentModel.DataAnnotations;

namespace Mvc.Models;

public sealed class LoginForm
{
    [Required, StringLength(60)]
    public string Name { get; set; } = string.Empty;

    [Required, DataType(DataType.Password)]
    public string Password { get; set; } = string.Empty;
}
