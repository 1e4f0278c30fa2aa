namespace FastCgi.Tool.Commands.Doctor;

/// <summary>An address in a configuration of h2o, of which nothing else is read.</summary>
internal sealed class H2oPlace(Directive pass) : Place(pass)
{
    private static readonly Regex s_address = new(
        @"fastcgi\.connect:\s*(host:\s*(?<host>\S+)\s+)?port:\s*(?<address>\S+)");

    public override bool IsFastCgi => true;

    public override string Description => $"fastcgi.connect {Pass.First}";
    public override IEnumerable<string> Targets => Pass.Arguments;

    public override (string Evidence, string? Consequence, string Line) HttpMistake => ("", null, "");

    public static IEnumerable<Place> Find(DoctorReport report, string file, string text)
    {
        report.AddNotUnderstood($"{file}: from h2o configurations, the doctor reads only addresses");
        foreach (Match match in s_address.Matches(text))
        {
            var (host, address) = (match.Groups["host"], match.Groups["address"].Value);
            var line = text.AsSpan(0, match.Index).Count('\n') + 1;
            yield return new H2oPlace(
                new("fastcgi.connect", [host.Success ? $"{host.Value}:{address}" : address], file, line, null));
        }
    }

    public override void Apply(DoctorReport report)
    {
        // There are no rules.
    }
}
