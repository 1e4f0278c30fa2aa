using System.IO.Enumeration;

namespace FastCgi.AspNetCore.ParityTests.Comparison;

/// <summary>
/// A value that differs from Kestrel's, and the reason. It is a rule: wherever Kestrel has the one value, the other is
/// required. Everything except the reason is a pattern, in which <c>*</c> matches any text.
/// </summary>
internal sealed record AllowedDifference(string Site, string Value, string Kestrel, string FastCgi, string Reason)
{
    /// <summary>The text for an absent value.</summary>
    public const string Absent = "(absent)";

    /// <summary>The first line of the requests to which it applies.</summary>
    public string Request { get; init; } = "*";

    /// <summary>Whether Kestrel's value is allowed too.</summary>
    public bool IsOptional { get; init; }

    /// <summary>The first version of nginx with the difference.</summary>
    public string Since { get; init; } = "0.0";

    public bool IsAbout(SiteKind site, string request, string value, string kestrel)
        => Matches(Site, $"{site}") && Matches(Request, request) && Matches(Value, value) && Matches(Kestrel, kestrel)
            && !InstalledVersions.IsBefore(FrontEndKind.Nginx, Since);

    public bool Allows(string kestrel, string fastCgi)
        => Matches(FastCgi, fastCgi) || (IsOptional && fastCgi == kestrel);

    public string Change
    {
        get
        {
            var webServer = Site == "*" ? string.Empty : $" through {Site["FastCgiBehind".Length..]}";
            var requests = Request == "*" ? string.Empty : $" of `{Request}`";
            var since = Since == "0.0" ? string.Empty : $" since {Since}";
            return $"{requests}{webServer}{since}: `{Kestrel}` → `{FastCgi}`";
        }
    }

    public override string ToString() => $"`{Value}`{Change}";

    private static bool Matches(string pattern, string text)
        => pattern is "*"
            || pattern == text
            || FileSystemName.MatchesSimpleExpression(pattern, text, ignoreCase: false);
}
