using FastCgi.AspNetCore.Authentication;
using Microsoft.AspNetCore.Authentication;

namespace Microsoft.Extensions.DependencyInjection;

/// <summary>Extension methods that add the FastCGI authentication scheme.</summary>
public static class FastCgiAuthenticationExtensions
{
    /// <summary>
    /// Adds authentication of the user that the web server passes in REMOTE_USER and AUTH_TYPE. Use it only if the web
    /// server authenticates users; see <see cref="FastCgiAuthenticationOptions"/>.
    /// </summary>
    /// <param name="builder">The <see cref="AuthenticationBuilder"/>.</param>
    /// <returns>The <see cref="AuthenticationBuilder"/>.</returns>
    public static AuthenticationBuilder AddFastCgi(this AuthenticationBuilder builder)
        => builder.AddFastCgi(configure: static _ => { });

    /// <summary>
    /// Adds authentication of the user that the web server passes in the parameters that the options name.
    /// </summary>
    /// <param name="builder">The <see cref="AuthenticationBuilder"/>.</param>
    /// <param name="configure">Configures the options.</param>
    /// <returns>The <see cref="AuthenticationBuilder"/>.</returns>
    public static AuthenticationBuilder AddFastCgi(
        this AuthenticationBuilder builder, Action<FastCgiAuthenticationOptions> configure)
        => builder.AddFastCgi(FastCgiAuthenticationDefaults.AuthenticationScheme, configure);

    /// <summary>Adds authentication of the user that the web server passes, under a scheme name.</summary>
    /// <param name="builder">The <see cref="AuthenticationBuilder"/>.</param>
    /// <param name="authenticationScheme">The name of the authentication scheme.</param>
    /// <param name="configure">Configures the options.</param>
    /// <returns>The <see cref="AuthenticationBuilder"/>.</returns>
    public static AuthenticationBuilder AddFastCgi(
        this AuthenticationBuilder builder, string authenticationScheme, Action<FastCgiAuthenticationOptions> configure)
    {
        ArgumentNullException.ThrowIfNull(builder);
        return builder.AddScheme<FastCgiAuthenticationOptions, FastCgiAuthenticationHandler>(
            authenticationScheme, configure);
    }
}
