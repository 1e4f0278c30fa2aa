namespace FastCgi.AspNetCore.ParityTests.Sites.FrontEnds;

/// <summary>Apache with <c>mod_proxy_fcgi</c>.</summary>
internal sealed class HttpsApache(string folder, EndPoint application, PortReservation httpsPort)
    : HttpsFrontEnd(FrontEndKind.Apache, folder, application, httpsPort)
{
    protected override (string Program, string[] Arguments) Command
        => ("apache2", ["-d", Folder, "-f", "apache-https.conf", "-D", "FOREGROUND"]);

    protected override string[] Templates => ["apache-https.conf"];

    protected override IEnumerable<KeyValuePair<string, string>> MoreValues =>
    [
        new("application", $"fcgi://{Application}/"),
        new("modules", "/usr/lib/apache2/modules"),
    ];
}
