using System.Net;
using System.Net.Sockets;

namespace FastCgi.AspNetCore.FunctionalTests.FrontEnds;

/// <summary>Apache with <c>mod_proxy_fcgi</c>.</summary>
internal sealed class ApacheFrontEnd(FrontEndSetup setup, string folder, EndPoint application) : FrontEnd(setup, folder, application)
{
    protected override (string Program, string[] Arguments) Command
        => ("apache2", ["-d", Folder, "-f", "apache.conf", "-D", "FOREGROUND"]);

    protected override string[] Templates => ["apache.conf"];

    protected override IReadOnlyDictionary<string, string> Values => new Dictionary<string, string>
    {
        ["modules"] = "/usr/lib/apache2/modules",
        // Behind a unix socket, the host only names the backend.
        ["application"] = Application is UnixDomainSocketEndPoint ? $"unix:{Application}|fcgi://app/" : $"fcgi://{Application}/",
        ["keep-connection"] = OnOrOff(Setup.KeepsConnections),
        ["flush-packets"] = Setup.BuffersResponses ? "off" : "on",
    };

    // Not those of mpm_event, which complains when it is stopped in the instant in which a client leaves.
    protected override string[] ErrorMarks => ["[proxy:error]", "[proxy_fcgi:error]", "[core:error]", ":crit]", ":alert]", ":emerg]"];
}
