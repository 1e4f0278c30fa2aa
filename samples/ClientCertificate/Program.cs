using System.Security.Cryptography.X509Certificates;
using Microsoft.AspNetCore.Authentication.Certificate;

var builder = WebApplication.CreateBuilder(args);
builder.WebHost.UseFastCgi(); // The one line that differs from the Kestrel version.

// The certificate comes from the web server. A client cannot forge it with a header.
builder.Services.AddAuthentication(CertificateAuthenticationDefaults.AuthenticationScheme).AddCertificate(options =>
{
    options.ChainTrustValidationMode = X509ChainTrustMode.CustomRootTrust;
    options.CustomTrustStore.ImportFromPemFile(builder.Configuration["ClientCA"] ?? "/etc/ssl/app/ca.pem");
    options.RevocationMode = X509RevocationMode.NoCheck; // An authority for a few users publishes no list.
});
builder.Services.AddAuthorization();
var app = builder.Build();

app.MapGet("/", () => "Everyone may read this.\n");
app.MapGet("/account", (HttpContext context) => $"The account of {context.User.Identity?.Name}.\n")
    .RequireAuthorization();
app.Run();
