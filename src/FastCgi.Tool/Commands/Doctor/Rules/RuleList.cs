namespace FastCgi.Tool.Commands.Doctor.Rules;

/// <summary>All rules. Their names never change.</summary>
internal static class RuleList
{
    public static IReadOnlyList<Rule> All { get; } =
    [
        .. AddressRules.All, .. TrustRules.All, .. ParameterRules.All, .. ReachRules.All,
        .. LimitRules.All,
    ];

    /// <summary>Applies all rules to a place.</summary>
    public static void Apply(DoctorReport report, Place place)
    {
        foreach (var rule in All)
            foreach (var one in rule.Cases)
                foreach (var seen in one.Find(place))
                    report.Add(rule, one, seen, place);
    }
}
