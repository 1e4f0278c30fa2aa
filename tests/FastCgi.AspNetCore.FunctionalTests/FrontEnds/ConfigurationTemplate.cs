namespace FastCgi.AspNetCore.FunctionalTests.FrontEnds;

/// <summary>
/// Fills in the templates of configurations: <c>{{name}}</c> stands for a value, <c>on</c> and <c>off</c> where it is a choice of the
/// setup; a line that begins with <c>{{?name}}</c> is there only if that is chosen, one with <c>{{!name}}</c> only if it is not.
/// </summary>
internal sealed class ConfigurationTemplate(FrontEndSetup setup, IReadOnlyDictionary<string, string> values)
{
    private readonly IReadOnlyDictionary<string, bool> _choices = new Dictionary<string, bool>
    {
        ["unix"] = setup.UsesUnixSocket,
        ["keep-connection"] = setup.KeepsConnections,
        ["multiplex"] = setup.Multiplexes,
        ["get-values"] = setup.AsksForValues,
        ["tls"] = setup.UsesTls,
        ["request-buffering"] = setup.BuffersRequests,
        ["response-buffering"] = setup.BuffersResponses,
        ["response-streaming"] = !setup.BuffersResponses,
    };

    public string FillIn(string text)
    {
        foreach (var (name, isChosen) in _choices)
        {
            text = text.Replace("{{" + name + "}}", isChosen ? "on" : "off", StringComparison.Ordinal);
            text = text.Replace("{{" + (isChosen ? "?" : "!") + name + "}}", "", StringComparison.Ordinal);
        }

        foreach (var (name, value) in values)
            text = text.Replace("{{" + name + "}}", value, StringComparison.Ordinal);
        return string.Join('\n', text.Split('\n').Where(IsChosen));
    }

    /// <summary>What is left over is a condition that does not hold.</summary>
    private static bool IsChosen(string line) => !line.Contains("{{?", StringComparison.Ordinal) && !line.Contains("{{!", StringComparison.Ordinal);
}
