namespace FastCgi.AspNetCore.Authentication;

/// <summary>Default values for the FastCGI authentication scheme.</summary>
public static class FastCgiAuthenticationDefaults
{
    /// <summary>The default name of the authentication scheme.</summary>
    public const string AuthenticationScheme = "FastCgi";
}
