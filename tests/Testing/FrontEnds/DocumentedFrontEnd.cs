namespace FastCgi.AspNetCore.Testing.FrontEnds;

/// <summary>
/// A web server with a documented configuration: the minimal one, the full one with TLS, or the one for a load
/// balancer. Only addresses, ports, sockets, and folders differ. The rest is the configuration of Debian's package.
/// </summary>
public static class DocumentedFrontEnd
{
    /// <param name="mistakes">Text in the document, and the faulty text that replaces it.</param>
    public static Task<FrontEnd> StartAsync(
        FrontEndSetup setup,
        string folder,
        EndPoint application,
        params (string Documented, string Mistaken)[] mistakes)
    {
        // Debian's package installs it next to the configuration.
        if (setup.Kind == FrontEndKind.Nginx)
            File.Copy(Programs.NginxParameters, Path.Combine(folder, "fastcgi_params"), overwrite: true);

        var heading = setup.UsesTls ? FrontEndDocument.Full : FrontEndDocument.Smallest;
        if (setup.IsBehindBalancer)
            heading = FrontEndDocument.BehindBalancer;
        var text = GetDocument(setup.Kind).GetConfiguration(heading, "{{port}}");
        foreach (var (documented, mistaken) in mistakes)
        {
            Assert.Contains(documented, text);
            text = text.Replace(documented, mistaken);
        }

        text = text.Replace(setup.UsesUnixSocket ? "/run/hello/app.sock" : "127.0.0.1:9000", application.ToString())
            .Replace("/etc/ssl/hello", folder)
            .Replace("192.0.2.10", Balancer.Address.ToString());
        var frame = $"{GetName(setup.Kind)}-frame.conf";
        var program = FrontEndProgram.Of(setup.Kind);
        return FrontEnd.StartAsync(
            program with
            {
                Arguments = [.. program.Arguments.Select(
                    argument => argument == program.Templates[0] ? frame : argument)],
                Templates = [frame],
            },
            setup,
            folder,
            ("document", text));
    }

    /// <summary>The document of a web server.</summary>
    public static FrontEndDocument GetDocument(FrontEndKind kind) => new(GetName(kind));

    /// <summary>Adds directives to the minimal configuration, before those that reach the application.</summary>
    public static (string Documented, string Mistaken)[] GetAddition(FrontEndKind kind, string directives)
    {
        if (directives.Length == 0)
            return [];

        var line = kind switch
        {
            FrontEndKind.Nginx => "    location / {",
            FrontEndKind.Apache => "<VirtualHost",
            FrontEndKind.Lighttpd => "server.modules += (",
            FrontEndKind.HaProxy => "    default_backend",
            _ => "\treverse_proxy",
        };
        return [(line, directives + '\n' + line)];
    }

    private static string GetName(FrontEndKind kind) => kind.ToString().ToLowerInvariant();
}
