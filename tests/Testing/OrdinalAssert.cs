namespace FastCgi.AspNetCore.Testing;

/// <summary>xUnit's assertions. Those on parts of texts compare characters, whatever the culture is.</summary>
public sealed class OrdinalAssert : Xunit.Assert
{
    private OrdinalAssert()
    {
    }

    public static new void Contains(string expected, string? actual)
        => Contains(expected, actual, StringComparison.Ordinal);

    public static new void DoesNotContain(string expected, string? actual)
        => DoesNotContain(expected, actual, StringComparison.Ordinal);

    public static new void StartsWith(string? expected, string? actual)
        => StartsWith(expected, actual, StringComparison.Ordinal);

    public static new void EndsWith(string? expected, string? actual)
        => EndsWith(expected, actual, StringComparison.Ordinal);
}
