using System.Text.Encodings.Web;
using Microsoft.AspNetCore.Authentication;
using Microsoft.Extensions.Options;

namespace FastCgi.AspNetCore.ParityTests.Application.Middleware;

/// <summary>
/// Creates a user from the client's certificate, which it reads from the same place as
/// Microsoft.AspNetCore.Authentication.Certificate.
/// </summary>
internal sealed class CertificateHandler(
    IOptionsMonitor<AuthenticationSchemeOptions> options, ILoggerFactory logger, UrlEncoder encoder)
    : AuthenticationHandler<AuthenticationSchemeOptions>(options, logger, encoder)
{
    public const string Name = "Certificate";

    protected override async Task<AuthenticateResult> HandleAuthenticateAsync()
    {
        if (!Request.IsHttps)
            return AuthenticateResult.NoResult();
        if (await Context.Connection.GetClientCertificateAsync(Context.RequestAborted) is not { } certificate)
            return AuthenticateResult.NoResult();

        var identity = new ClaimsIdentity(
            [
                new Claim(ClaimTypes.Name, certificate.Subject),
                new Claim("issuer", certificate.Issuer),
                new Claim(ClaimTypes.SerialNumber, certificate.SerialNumber),
                new Claim(ClaimTypes.Thumbprint, certificate.Thumbprint),
            ],
            Name);
        return AuthenticateResult.Success(new AuthenticationTicket(new ClaimsPrincipal(identity), Name));
    }

    protected override Task HandleChallengeAsync(AuthenticationProperties properties)
    {
        // The certificate cannot be requested again.
        Response.StatusCode = StatusCodes.Status403Forbidden;
        return Task.CompletedTask;
    }
}
