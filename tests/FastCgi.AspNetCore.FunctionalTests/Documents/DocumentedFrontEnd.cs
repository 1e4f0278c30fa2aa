using System.Net;
using System.Text.RegularExpressions;

namespace FastCgi.AspNetCore.FunctionalTests.Documents;

/// <summary>A web server that is configured by a block of a document, with the folder and port of the test.</summary>
internal sealed partial class DocumentedFrontEnd(FrontEndKind kind, string block, string folder, EndPoint application)
    : FrontEnd(new FrontEndSetup { Kind = kind, UsesUnixSocket = true }, folder, application)
{
    private static readonly string[] s_folders = ["/run/app/", "/etc/ssl/", "/srv/app/", "/var/log/nginx/", "/var/log/apache2/"];

    protected override (string Program, string[] Arguments) Command => Setup.Kind == FrontEndKind.Nginx
        ? ("nginx", ["-p", Folder, "-c", "nginx-frame.conf", "-e", "error.log"])
        : ("apache2", ["-d", Folder, "-f", "apache-frame.conf", "-D", "FOREGROUND"]);

    protected override string[] Templates => [Setup.Kind == FrontEndKind.Nginx ? "nginx-frame.conf" : "apache-frame.conf"];

    protected override IReadOnlyDictionary<string, string> Values => new Dictionary<string, string> { ["block"] = Adapt(block) };

    // The tests themselves look at the log.
    protected override string[] ErrorMarks => [];

    private string Adapt(string configuration)
    {
        var adapted = Port().Replace(configuration, EndPoint.ToString())
            .Replace("include fastcgi_params;", "include /etc/nginx/fastcgi_params;", StringComparison.Ordinal);
        foreach (var folder in s_folders)
            adapted = adapted.Replace(folder, Folder + "/", StringComparison.Ordinal);
        return Members().Replace(adapted, $"{Folder}/members");
    }

    [GeneratedRegex(@"(?<=listen |VirtualHost )(\*:)?(80|443)\b")]
    private static partial Regex Port();

    [GeneratedRegex("/etc/(nginx|apache2)/members")]
    private static partial Regex Members();
}
