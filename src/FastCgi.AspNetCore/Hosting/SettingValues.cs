using System.Globalization;
using Microsoft.Extensions.Configuration;

namespace FastCgi.AspNetCore.Hosting;

/// <summary>Reads the values of settings; a <see cref="FormatException"/> says what one must be.</summary>
internal static class SettingValues
{
    /// <summary>A value that must be there.</summary>
    public static string Required(IConfigurationSection setting) => setting.Value ?? throw new FormatException("a value is missing.");

    /// <summary>A name of the enumeration. Numbers, which <see cref="Enum"/> would take, are none.</summary>
    public static T Choice<T>(IConfigurationSection setting)
        where T : struct, Enum
    {
        var name = Enum.GetNames<T>().FirstOrDefault(name => name.Equals(setting.Value, StringComparison.OrdinalIgnoreCase));
        return name is not null ? Enum.Parse<T>(name) : throw new FormatException($"it is one of {string.Join(", ", Enum.GetNames<T>())}.");
    }

    /// <summary>A whole number.</summary>
    public static int Number(IConfigurationSection setting) => int.Parse(Required(setting), NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture);

    /// <summary>A whole number, or nothing, which is no limit.</summary>
    public static long? OptionalNumber(IConfigurationSection setting)
        => string.IsNullOrEmpty(setting.Value) ? null : long.Parse(setting.Value, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture);

    /// <summary>A number, which may have decimals. NaN and Infinity, which <see cref="double"/> would take, are none.</summary>
    public static double DecimalNumber(IConfigurationSection setting)
        => double.Parse(Required(setting), NumberStyles.AllowDecimalPoint, CultureInfo.InvariantCulture) is var number && double.IsFinite(number)
            ? number
            : throw new FormatException("it is not a number.");

    /// <summary>A number alone would be days, which nobody means.</summary>
    public static TimeSpan Time(IConfigurationSection setting) => Required(setting).Contains(':', StringComparison.Ordinal)
        ? TimeSpan.Parse(setting.Value!, CultureInfo.InvariantCulture)
        : throw new FormatException("a time is written as hours:minutes:seconds, such as 00:00:30.");

    /// <summary>A time, or nothing, which is no limit.</summary>
    public static TimeSpan? OptionalTime(IConfigurationSection setting) => string.IsNullOrEmpty(setting.Value) ? null : Time(setting);

    /// <summary>True or false.</summary>
    public static bool Flag(IConfigurationSection setting) => bool.Parse(Required(setting));
}
