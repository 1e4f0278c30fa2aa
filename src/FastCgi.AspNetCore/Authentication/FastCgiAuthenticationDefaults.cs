namespace FastCgi.AspNetCore.Authentication;

/// <summary>The names of the FastCGI authentication scheme.</summary>
public static class FastCgiAuthenticationDefaults
{
    /// <summary>The scheme, unless <c>AddFastCgi</c> is given another name.</summary>
    public const string AuthenticationScheme = "FastCgi";
}
