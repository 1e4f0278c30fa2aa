using System.IO.Enumeration;

namespace FastCgi.AspNetCore.ParityTests.Comparison;

/// <summary>
/// A value that differs from Kestrel's. It is a rule: wherever Kestrel has the one value, the other is required. Each
/// is a pattern, in which <c>*</c> matches any text.
/// </summary>
internal sealed record AllowedDifference(string Site, string Value, string Kestrel, string FastCgi)
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

    private static bool Matches(string pattern, string text)
        => pattern is "*"
            || pattern == text
            || FileSystemName.MatchesSimpleExpression(pattern, text, ignoreCase: false);
}
