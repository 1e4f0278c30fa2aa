namespace FastCgi.AspNetCore.Testing.FrontEnds;

/// <summary>
/// HAProxy as a load balancer in front of a web server. It terminates TLS and sets the usual headers.
/// </summary>
public static class Balancer
{
    private static readonly FrontEndProgram s_program = new(
        "haproxy", ["-db", "-f", "balancer.conf"], ["balancer.conf"], ["[ALERT]"]);

    public static IPAddress Address { get; } = IPAddress.Parse("127.0.0.9");

    /// <param name="folder">Its own folder, with the certificate.</param>
    public static Task<FrontEnd> StartAsync(FrontEndSetup setup, string folder, EndPoint webServer)
        => FrontEnd.StartAsync(
            s_program, setup, folder, ("web-server", $"{webServer}"), ("address", $"{Address}"));
}
