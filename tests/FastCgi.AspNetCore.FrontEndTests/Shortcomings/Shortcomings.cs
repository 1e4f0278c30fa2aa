using System.Text.RegularExpressions;

namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>
/// What web servers cannot do, from their pages in <c>docs/front-ends</c>: a comment behind the sentence names the
/// ability. Cases that need it do not run behind them.
/// </summary>
internal static partial class Shortcomings
{
    private static readonly List<Shortcoming> s_all = [..
        from kind in Enum.GetValues<FrontEndKind>()
        from mark in Mark().Matches(DocumentedFrontEnd.GetDocument(kind).Text)
        select new Shortcoming(
            kind,
            Enum.Parse<Ability>(mark.Groups["ability"].Value),
            [.. mark.Groups["condition"].Captures.Select(static condition => condition.Value.Replace('-', ' '))])];

    public static bool Has(FrontEndSetup setup, Ability ability)
        => s_all.Any(shortcoming => shortcoming.Applies(setup, ability));

    [GeneratedRegex(@"^- .*<!--lacks:(?<ability>\w+)([:,](?<condition>[^,]+?))*-->$", RegexOptions.Multiline)]
    private static partial Regex Mark();
}
