namespace FastCgi.AspNetCore.Testing.FrontEnds;

/// <summary>
/// HAProxy as a load balancer in front of a web server. It terminates TLS and sets the usual headers.
/// </summary>
/// <param name="folder">Its own folder, with the certificate.</param>
public sealed class Balancer(
    FrontEndSetup setup, string folder, EndPoint webServer) : FrontEnd(setup, folder, webServer)
{
    public static IPAddress Address { get; } = IPAddress.Parse("127.0.0.9");

    protected override (string Program, string[] Arguments) Command => ("haproxy", ["-db", "-f", "balancer.conf"]);

    protected override string[] Templates => ["balancer.conf"];

    protected override IReadOnlyDictionary<string, string> Values => new Dictionary<string, string>
    {
        ["web-server"] = Application.ToString()!,
        ["address"] = Address.ToString(),
    };

    protected override string[] ErrorMarks => ["[ALERT]"];
}
