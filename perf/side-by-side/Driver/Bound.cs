using System.Globalization;

namespace SideBySide.Driver;

/// <summary>The required value of a figure, and its target.</summary>
internal sealed record Bound(double Must, double Aim, bool IsAtLeast, string Format)
{
    /// <summary>The figure is a ratio of at most this.</summary>
    public static Bound AtMost(double must, double aim) => new(must, aim, IsAtLeast: false, "0.00");

    /// <summary>The figure is a ratio of at least this.</summary>
    public static Bound AtLeast(double must, double aim) => new(must, aim, IsAtLeast: true, "0.00");

    /// <summary>The figure is a number of bytes, at most this.</summary>
    public static Bound BytesAtMost(double must, double aim) => new(must, aim, IsAtLeast: false, "#,0");

    public string Describe(double limit)
        => (IsAtLeast ? "≥ " : "≤ ") + limit.ToString(Format, CultureInfo.InvariantCulture);

    /// <summary>Whether a figure, as printed, meets it.</summary>
    public string Judge(double figure)
        => Holds(figure, Aim) ? "yes, and the goal" : Holds(figure, Must) ? "yes" : "**no**";

    private bool Holds(double figure, double limit)
    {
        var printed = Math.Round(figure, Format == "0.00" ? 2 : 0);
        return IsAtLeast ? printed >= limit : printed <= limit;
    }
}
