namespace FastCgi.AspNetCore.Testing.FrontEnds;

/// <summary>
/// Templates of configurations: <c>{{name}}</c> is replaced with a value, or with <c>on</c> or <c>off</c> for a choice
/// of the setup; a line with <c>{{?name}}</c> is there only if that is chosen, one with <c>{{!name}}</c> only if it is
/// not.
/// </summary>
public static class ConfigurationTemplate
{
    /// <summary>The text with all values filled in.</summary>
    public static string FillIn(
        string text, FrontEndSetup setup, params IEnumerable<(string Name, string Value)> values)
    {
        foreach (var (name, isChosen) in GetChoices(setup))
        {
            text = text.Replace("{{" + name + "}}", isChosen ? "on" : "off");
            text = text.Replace("{{" + (isChosen ? "?" : "!") + name + "}}", "");
        }

        foreach (var (name, value) in values)
            text = text.Replace("{{" + name + "}}", value);
        return string.Join('\n', text.Split('\n').Where(IsChosen));
    }

    private static IEnumerable<(string Name, bool IsChosen)> GetChoices(FrontEndSetup setup) =>
    [
        ("unix", setup.UsesUnixSocket),
        ("keep-connection", setup.KeepsConnections),
        ("multiplex", setup.Multiplexes),
        ("get-values", setup.AsksForValues),
        ("tls", setup.UsesTls),
        ("request-buffering", setup.BuffersRequests),
        ("response-buffering", setup.BuffersResponses),
        ("response-streaming", !setup.BuffersResponses),
        // Directives that later versions call deprecated, and whose replacements earlier ones reject.
        ("old-http2", InstalledVersions.IsBefore(FrontEndKind.Nginx, "1.25.1")),
        ("old-caddy", InstalledVersions.IsBefore(FrontEndKind.Caddy, "2.8")),
    ];

    /// <summary>The remaining lines have a condition that is false.</summary>
    private static bool IsChosen(string line)
        => !line.Contains("{{?") && !line.Contains("{{!");
}
