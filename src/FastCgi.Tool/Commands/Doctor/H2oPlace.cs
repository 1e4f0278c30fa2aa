namespace FastCgi.Tool.Commands.Doctor;

/// <summary>An address in a configuration of h2o. Of the other lines, only headers in <c>setenv</c> are read.</summary>
internal sealed class H2oPlace(Directive pass, IReadOnlyList<Seen> headers) : Place(pass)
{
    public static Rule<H2oPlace>[] Rules { get; } = [new("h2o.underscores", static place => place.Headers)];

    private static readonly Regex s_connect = new(
        @"^(?<indent>[ \t]*)(-[ \t]+)?fastcgi\.connect:[ \t]*(?<value>[^#\n]*).*\n?"
        + @"(?<block>((\k<indent>[ \t].*|[ \t]*(#.*)?)(\n|\z))*)", RegexOptions.Multiline);
    private static readonly Regex s_item = new(
        @"(?<![\w\x22'])[\x22']?(?<key>host|port)[\x22']?:\s*[\x22']?(?<text>[^\s\x22',}]+)");

    private static readonly Regex s_header = new(
        @"(?<![\w\x22'])[\x22']?HTTP_(?<name>(?!HOST\b)\w+)[\x22']?:[ \t]*(?<value>[^\n,}]*)");

    public override bool IsFastCgi => true;
    public override bool ReachesAbstract => true;
    public override string Description => $"fastcgi.connect {Pass.First}";
    public override IEnumerable<string> Targets => Pass.Arguments;

    /// <summary>Headers of the web server. Those of clients reach the application in addition.</summary>
    private IReadOnlyList<Seen> Headers => headers;

    public static IEnumerable<Place> Find(DoctorReport report, string file, string text)
    {
        report.AddNotUnderstood(
            $"{file}: from h2o configurations, the doctor reads only addresses and headers in setenv");
        text = text.ReplaceLineEndings("\n");
        var lines = Regex.Replace(text, "#.*", "");
        var headers = s_header.Matches(lines)
            .Select(match => new Seen(
                $"{file}:{GetLine(lines, match)}", match.Groups["name"].Value, match.Groups["value"].Value.Trim()))
            .ToList();
        foreach (Match match in s_connect.Matches(text))
        {
            var (value, block) = (match.Groups["value"].Value.Trim(), match.Groups["block"].Value);
            var items = s_item.Matches(value + "\n" + Regex.Replace(block, "#.*", "")).ToLookup(
                static item => item.Groups["key"].Value, static item => item.Groups["text"].Value);
            var address = items["port"].FirstOrDefault(value.Trim('"', '\''));
            if (address is not ['/', ..])
                address = $"{items["host"].FirstOrDefault("127.0.0.1")}:{address}";
            yield return new H2oPlace(new("fastcgi.connect", [address], file, GetLine(text, match), null), headers);
        }
    }

    private static int GetLine(string text, Match match) => text.AsSpan(0, match.Index).Count('\n') + 1;
}
