using System.Net;
using System.Text.RegularExpressions;

namespace FastCgi.AspNetCore.FunctionalTests.FrontEnds;

/// <summary>
/// A web server with the configuration that its document shows, the smallest or, with TLS, the full one: only ports, sockets and
/// folders are other ones, and around it is what Debian's package has around it.
/// </summary>
internal sealed partial class DocumentedFrontEnd(FrontEndSetup setup, string folder, EndPoint application) : FrontEnd(setup, folder, application)
{
    /// <summary>The host of the documents.</summary>
    public const string HostName = "hello.example.com";

    private readonly FrontEndProgram _program = FrontEndProgram.Of(setup.Kind);

    protected override (string Program, string[] Arguments) Command
        => (_program.Name, [.. _program.Arguments.Select(argument => argument == _program.Templates[0] ? Templates[0] : ConfigurationTemplate.FillIn(argument, Setup, Values))]);

    protected override string[] Templates => [$"{Setup.Kind.ToString().ToLowerInvariant()}-frame.conf"];

    protected override IReadOnlyDictionary<string, string> Values => new Dictionary<string, string>
    {
        ["document"] = GetConfiguration(),
        ["folder"] = Folder,
    };

    protected override string[] ErrorMarks => _program.ErrorMarks;

    /// <summary>The text of a web server's document.</summary>
    public static string ReadDocument(FrontEndKind kind)
        => File.ReadAllText(Path.Combine(AppContext.BaseDirectory, "Documents", kind.ToString().ToLowerInvariant() + ".md"));

    private string GetConfiguration()
    {
        var blocks = FencedBlock().Matches(ReadDocument(Setup.Kind));
        var text = blocks[Setup.UsesTls ? 1 : 0].Groups["text"].Value
            .Replace(Setup.UsesUnixSocket ? "/run/hello/app.sock" : "127.0.0.1:9000", Application.ToString(), StringComparison.Ordinal)
            .Replace("/etc/ssl/hello", Folder, StringComparison.Ordinal);
        if (Setup.Kind == FrontEndKind.Nginx)
            File.Copy("/etc/nginx/fastcgi_params", Path.Combine(Folder, "fastcgi_params"), overwrite: true);
        return ListeningPort().Replace(text, $"{EndPoint.Port}");
    }

    [GeneratedRegex(@"^```\w+\n(?<text>.*?)^```$", RegexOptions.Multiline | RegexOptions.Singleline)]
    private static partial Regex FencedBlock();

    [GeneratedRegex(@"\b(80|443)\b")]
    private static partial Regex ListeningPort();
}
