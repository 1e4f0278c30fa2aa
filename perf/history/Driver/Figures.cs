using System.Globalization;

namespace History.Driver;

/// <summary>One quantity, measured several times.</summary>
internal sealed class Figures
{
    private readonly List<double> _values = [];

    public bool Any => _values.Count > 0;

    public double Mean => _values.Average();

    /// <summary>The standard deviation of the mean, in percent.</summary>
    public double Error => Deviation / Math.Sqrt(_values.Count);

    /// <summary>The standard deviation, in percent of the mean.</summary>
    public double Deviation
        => _values.Count < 2
            ? 0
            : Math.Sqrt(_values.Sum(value => (value - Mean) * (value - Mean)) / (_values.Count - 1)) / Mean * 100;

    public void Add(double value) => _values.Add(value);

    /// <summary>The mean, and the deviation as the record prints it.</summary>
    public override string ToString()
        => _values.Count < 2
            ? Number(Mean)
            : $"{Number(Mean)} ± {Deviation.ToString("0.0", CultureInfo.InvariantCulture)} %";

    /// <summary>The median of the ratios to other figures of the same rounds.</summary>
    public double MedianRatioTo(Figures others)
    {
        var ratios = _values.Zip(others._values, static (value, other) => value / other).Order().ToList();
        return (ratios[(ratios.Count - 1) / 2] + ratios[ratios.Count / 2]) / 2;
    }

    /// <summary>A number for a table.</summary>
    public static string Number(double value) => value.ToString(
        Math.Abs(value) < 10 ? "0.00" : Math.Abs(value) < 100 ? "0.0" : "#,0",
        CultureInfo.InvariantCulture);
}
