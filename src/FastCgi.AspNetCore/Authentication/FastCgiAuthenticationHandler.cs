using System.Security.Claims;
using System.Text.Encodings.Web;
using Microsoft.AspNetCore.Authentication;

namespace FastCgi.AspNetCore.Authentication;

/// <summary>Authenticates the web server's user. A challenge is a plain 401: the web server asks.</summary>
internal sealed class FastCgiAuthenticationHandler(
    IOptionsMonitor<FastCgiAuthenticationOptions> options, ILoggerFactory loggerFactory, UrlEncoder encoder)
    : AuthenticationHandler<FastCgiAuthenticationOptions>(options, loggerFactory, encoder)
{
    protected override Task<AuthenticateResult> HandleAuthenticateAsync() => Task.FromResult(Authenticate());

    private AuthenticateResult Authenticate()
    {
        var userName = Context.GetServerVariable(Options.UserNameParameter);
        if (string.IsNullOrEmpty(userName))
            return AuthenticateResult.NoResult();

        var type = Context.GetServerVariable(Options.AuthenticationTypeParameter);
        if (string.IsNullOrEmpty(type))
        {
            if (Options.RequireAuthenticationType)
            {
                (Context.Features.Get<IFastCgiRequestFeature>() as FastCgiRequest)
                    ?.ReportUserNotTaken(Options.UserNameParameter, Options.AuthenticationTypeParameter);
                return AuthenticateResult.NoResult();
            }

            type = Scheme.Name;
        }

        var identity = new ClaimsIdentity(GetClaims(userName), type);
        return AuthenticateResult.Success(new AuthenticationTicket(new ClaimsPrincipal(identity), Scheme.Name));
    }

    private IEnumerable<Claim> GetClaims(string userName)
    {
        yield return MakeClaim(ClaimTypes.NameIdentifier, userName);
        yield return MakeClaim(ClaimTypes.Name, userName);
        foreach (var parameter in Options.ClaimParameters)
        {
            var value = Context.GetServerVariable(parameter.Name);
            if (string.IsNullOrEmpty(value))
                continue;

            var values = parameter.Separator is { } separator
                ? value.Split(separator, StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries)
                : [value];
            foreach (var one in values)
                yield return MakeClaim(parameter.ClaimType, one);
        }
    }

    private Claim MakeClaim(string type, string value) => new(type, value, ClaimValueTypes.String, ClaimsIssuer);
}
