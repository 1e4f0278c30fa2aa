namespace FastCgi.AspNetCore.ParityTests.Sites.FrontEnds;

internal sealed class HttpsNginx(string location, string folder, EndPoint application, PortReservation httpsPort)
    : HttpsFrontEnd(FrontEndKind.Nginx, folder, application, httpsPort)
{
    protected override (string Program, string[] Arguments) Command
        => ("nginx", ["-p", Folder, "-c", "nginx-https.conf", "-e", "error.log"]);

    protected override string[] Templates => ["nginx-https.conf", "fastcgi_app.conf", location];

    protected override IEnumerable<KeyValuePair<string, string>> MoreValues =>
    [
        new("application", Application is UnixDomainSocketEndPoint ? $"unix:{Application}" : $"{Application}"),
        new("location", location),
    ];
}
