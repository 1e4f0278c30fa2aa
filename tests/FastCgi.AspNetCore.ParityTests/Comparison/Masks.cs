namespace FastCgi.AspNetCore.ParityTests.Comparison;

/// <summary>
/// Text that differs in each run, even of one server, and is replaced with a name before the comparison.
/// </summary>
internal static partial class Masks
{
    public static string Apply(string text)
    {
        text = ProtectedData().Replace(text, "{protected}");
        text = CompiledName().Replace(text, "{compiled}");
        text = TraceParent().Replace(text, "{trace parent}");
        text = Guid().Replace(text, "{guid}");
        text = HttpDate().Replace(text, "{date}");
        return Duration().Replace(text, "{duration}ms");
    }

    // Data Protection's output begins with its magic header.
    [GeneratedRegex(@"CfDJ8[\w%+/=-]+")]
    private static partial Regex ProtectedData();

    // Each handler that is compiled at run time gets a number.
    [GeneratedRegex(@"lambda_method\d+")]
    private static partial Regex CompiledName();

    [GeneratedRegex(@"00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]")]
    private static partial Regex TraceParent();

    [GeneratedRegex(@"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")]
    private static partial Regex Guid();

    [GeneratedRegex(@"\w{3}, \d{2} \w{3} \d{4} \d{2}:\d{2}:\d{2} GMT")]
    private static partial Regex HttpDate();

    [GeneratedRegex(@"\b[\d.]+ ?ms\b")]
    private static partial Regex Duration();
}
