namespace FastCgi.AspNetCore.Testing.FrontEnds;

/// <summary>
/// A web server with a documented configuration: the minimal one, the full one with TLS, or the one for a load
/// balancer. Only addresses, ports, sockets, and folders differ. The rest is the configuration of Debian's package.
/// </summary>
/// <param name="mistakes">Text in the document, and the faulty text that replaces it.</param>
public sealed class DocumentedFrontEnd(
    FrontEndSetup setup,
    string folder,
    EndPoint application,
    params (string Documented, string Mistaken)[] mistakes) : FrontEnd(setup, folder, application)
{
    private readonly FrontEndProgram _program = FrontEndProgram.Of(setup.Kind);

    protected override (string Program, string[] Arguments) Command
        => (_program.Name, [.. _program.Arguments.Select(FillIn)]);

    protected override string[] Templates => [$"{GetName(Setup.Kind)}-frame.conf"];

    protected override IReadOnlyDictionary<string, string> Values => new Dictionary<string, string>
    {
        ["document"] = GetConfiguration(),
        ["folder"] = Folder,
    };

    protected override string[] ErrorMarks => _program.ErrorMarks;

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

    private string FillIn(string argument)
        => argument == _program.Templates[0] ? Templates[0] : ConfigurationTemplate.FillIn(argument, Setup, Values);

    private string GetConfiguration()
    {
        // Debian's package installs it next to the configuration.
        if (Setup.Kind == FrontEndKind.Nginx)
            File.Copy(Programs.NginxParameters, Path.Combine(Folder, "fastcgi_params"), overwrite: true);

        var heading = Setup.UsesTls ? FrontEndDocument.Full : FrontEndDocument.Smallest;
        if (Setup.IsBehindBalancer)
            heading = FrontEndDocument.BehindBalancer;
        var text = GetDocument(Setup.Kind)
            .GetConfiguration(heading, EndPoint.Port.ToString(CultureInfo.InvariantCulture));
        foreach (var (documented, mistaken) in mistakes)
        {
            Assert.Contains(documented, text);
            text = text.Replace(documented, mistaken);
        }

        return text.Replace(Setup.UsesUnixSocket ? "/run/hello/app.sock" : "127.0.0.1:9000", Application.ToString())
            .Replace("/etc/ssl/hello", Folder)
            .Replace("192.0.2.10", Balancer.Address.ToString());
    }
}
