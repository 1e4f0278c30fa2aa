namespace FastCgi.Tool.Commands.Doctor;

/// <summary>An address in a configuration of h2o, of which nothing else is read.</summary>
internal sealed class H2oPlace(Directive pass) : Place(pass)
{
    private static readonly Regex s_connect = new(
        @"^(?<indent>[ \t]*)(-[ \t]+)?fastcgi\.connect:[ \t]*(?<value>[^#\n]*).*\n?"
        + @"(?<block>((\k<indent>[ \t].*|[ \t]*(#.*)?)(\n|\z))*)", RegexOptions.Multiline);
    private static readonly Regex s_item = new(
        @"(?<![\w\x22'])[\x22']?(?<key>host|port)[\x22']?:\s*[\x22']?(?<text>[^\s\x22',}]+)");

    public override bool IsFastCgi => true;

    public override string Description => $"fastcgi.connect {Pass.First}";
    public override IEnumerable<string> Targets => Pass.Arguments;

    public static IEnumerable<Place> Find(DoctorReport report, string file, string text)
    {
        report.AddNotUnderstood($"{file}: from h2o configurations, the doctor reads only addresses");
        foreach (Match match in s_connect.Matches(text.ReplaceLineEndings("\n")))
        {
            var (value, block) = (match.Groups["value"].Value.Trim(), match.Groups["block"].Value);
            var items = s_item.Matches(value + "\n" + Regex.Replace(block, "#.*", "")).ToLookup(
                static item => item.Groups["key"].Value, static item => item.Groups["text"].Value);
            var address = items["port"].FirstOrDefault(value.Trim('"', '\''));
            if (address is not ['/', ..])
                address = $"{items["host"].FirstOrDefault("127.0.0.1")}:{address}";
            var line = text.AsSpan(0, match.Index).Count('\n') + 1;
            yield return new H2oPlace(new("fastcgi.connect", [address], file, line, null));
        }
    }
}
