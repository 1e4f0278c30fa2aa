using System.Net;
using System.Net.Sockets;

namespace FastCgi.AspNetCore.FunctionalTests.FrontEnds;

/// <summary>nginx with <c>fastcgi_pass</c>.</summary>
internal sealed class NginxFrontEnd(FrontEndSetup setup, string folder, EndPoint application) : FrontEnd(setup, folder, application)
{
    protected override (string Program, string[] Arguments) Command
        => ("nginx", ["-p", Folder, "-c", "nginx.conf", "-e", "error.log"]);

    protected override string[] Templates => ["nginx.conf", "fastcgi_app.conf"];

    protected override IReadOnlyDictionary<string, string> Values => new Dictionary<string, string>
    {
        ["application"] = Application is UnixDomainSocketEndPoint ? $"unix:{Application}" : Application.ToString()!,
        ["keep-connection"] = OnOrOff(Setup.KeepsConnections),
        ["request-buffering"] = OnOrOff(Setup.BuffersRequests),
        ["response-buffering"] = OnOrOff(Setup.BuffersResponses),
    };

    protected override string[] ErrorMarks => ["[error]", "[crit]", "[alert]", "[emerg]"];
}
