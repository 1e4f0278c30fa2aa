namespace FastCgi.AspNetCore.ParityTests.Sites;

/// <summary>A web server that also listens with TLS, and requests a client certificate.</summary>
/// <param name="location">The template with nginx's way to the application; not used for Apache.</param>
internal sealed class HttpsFrontEnd(
    FrontEndKind kind, string folder, EndPoint application, PortReservation httpsPort, string location = "")
    : FrontEnd(new FrontEndSetup { Kind = kind }, folder, application)
{
    private bool IsNginx => Setup.Kind == FrontEndKind.Nginx;

    protected override (string Program, string[] Arguments) Command => IsNginx
        ? ("nginx", ["-p", Folder, "-c", "nginx-https.conf", "-e", "error.log"])
        : ("apache2", ["-d", Folder, "-f", "apache-https.conf", "-D", "FOREGROUND"]);

    protected override string[] Templates
        => IsNginx ? ["nginx-https.conf", "fastcgi_app.conf", location] : ["apache-https.conf"];

    protected override IReadOnlyDictionary<string, string> Values => new Dictionary<string, string>
    {
        ["https-port"] = $"{httpsPort.EndPoint.Port}",
        ["application"] = (IsNginx, Application) switch
        {
            (false, _) => $"fcgi://{Application}/",
            (true, UnixDomainSocketEndPoint) => $"unix:{Application}",
            _ => $"{Application}",
        },
        ["modules"] = "/usr/lib/apache2/modules",
        ["location"] = location,
    };

    // The tests themselves check for the errors that they cause.
    protected override string[] ErrorMarks => ["emerg]", "alert]", "crit]"];
}
