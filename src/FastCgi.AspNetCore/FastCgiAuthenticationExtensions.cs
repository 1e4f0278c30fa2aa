using FastCgi.AspNetCore.Authentication;
using Microsoft.AspNetCore.Authentication;

namespace Microsoft.Extensions.DependencyInjection;

/// <summary>Adds the FastCGI authentication scheme to an application.</summary>
public static class FastCgiAuthenticationExtensions
{
    /// <summary>
    /// Takes the user from the web server: REMOTE_USER and AUTH_TYPE. Only where the web server itself checks who the user is; see
    /// <see cref="FastCgiAuthenticationOptions"/>.
    /// </summary>
    /// <param name="builder">The builder of the application's authentication.</param>
    /// <returns>The builder.</returns>
    public static AuthenticationBuilder AddFastCgi(this AuthenticationBuilder builder) => builder.AddFastCgi(configure: static _ => { });

    /// <summary>Takes the user from the web server, from chosen parameters.</summary>
    /// <param name="builder">The builder of the application's authentication.</param>
    /// <param name="configure">Sets the options.</param>
    /// <returns>The builder.</returns>
    public static AuthenticationBuilder AddFastCgi(this AuthenticationBuilder builder, Action<FastCgiAuthenticationOptions> configure)
        => builder.AddFastCgi(FastCgiAuthenticationDefaults.AuthenticationScheme, configure);

    /// <summary>Takes the user from the web server, from chosen parameters, as a scheme of another name.</summary>
    /// <param name="builder">The builder of the application's authentication.</param>
    /// <param name="authenticationScheme">The name of the scheme.</param>
    /// <param name="configure">Sets the options.</param>
    /// <returns>The builder.</returns>
    public static AuthenticationBuilder AddFastCgi(
        this AuthenticationBuilder builder, string authenticationScheme, Action<FastCgiAuthenticationOptions> configure)
    {
        ArgumentNullException.ThrowIfNull(builder);
        return builder.AddScheme<FastCgiAuthenticationOptions, FastCgiAuthenticationHandler>(authenticationScheme, configure);
    }
}
