using System.Globalization;

namespace SideBySide.Driver;

/// <summary>The target of a figure.</summary>
internal sealed record Bound(double Limit, bool IsAtLeast, string Format)
{
    /// <summary>The figure is a ratio of at most this.</summary>
    public static Bound AtMost(double limit) => new(limit, IsAtLeast: false, "0.00");

    /// <summary>The figure is a ratio of at least this.</summary>
    public static Bound AtLeast(double limit) => new(limit, IsAtLeast: true, "0.00");

    /// <summary>The figure is a number of bytes, at most this.</summary>
    public static Bound BytesAtMost(double limit) => new(limit, IsAtLeast: false, "#,0");

    public string Describe() => (IsAtLeast ? "≥ " : "≤ ") + Limit.ToString(Format, CultureInfo.InvariantCulture);

    /// <summary>Whether a figure, as printed, meets the target.</summary>
    public string Judge(double figure)
    {
        var printed = Math.Round(figure, Format == "0.00" ? 2 : 0);
        return (IsAtLeast ? printed >= Limit : printed <= Limit) ? "yes" : "**no**";
    }
}
