namespace FastCgi.AspNetCore.Hosting.Endpoints;

/// <summary>Parses settings. A <see cref="FormatException"/> explains what is expected.</summary>
internal static class SettingValues
{
    public static string Required(IConfigurationSection setting)
        => setting.Value ?? throw new FormatException("a value is missing.");

    public static string? OptionalText(IConfigurationSection setting)
        => string.IsNullOrEmpty(setting.Value) ? null : setting.Value;

    /// <summary>The name of an enumeration member. Unlike <see cref="Enum"/>, rejects numbers.</summary>
    public static T Choice<T>(IConfigurationSection setting)
        where T : struct, Enum
    {
        var name = Enum.GetNames<T>()
            .FirstOrDefault(name => name.Equals(setting.Value, StringComparison.OrdinalIgnoreCase));
        return name is not null
            ? Enum.Parse<T>(name)
            : throw new FormatException($"it must be one of {string.Join(", ", Enum.GetNames<T>())}.");
    }

    public static int Number(IConfigurationSection setting)
        => int.Parse(Required(setting), NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture);

    /// <summary>An empty value means no limit.</summary>
    public static long? OptionalNumber(IConfigurationSection setting)
        => string.IsNullOrEmpty(setting.Value)
            ? null
            : long.Parse(setting.Value, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture);

    /// <summary>Unlike <see cref="double"/>, rejects NaN and Infinity.</summary>
    public static double DecimalNumber(IConfigurationSection setting)
        => double.Parse(Required(setting), NumberStyles.AllowDecimalPoint, CultureInfo.InvariantCulture) is var number
            && double.IsFinite(number)
            ? number
            : throw new FormatException("it is not a number.");

    /// <summary>Rejects a plain number, which would be days.</summary>
    public static TimeSpan Time(IConfigurationSection setting) => Required(setting)
        .Contains(':', StringComparison.Ordinal)
        ? TimeSpan.Parse(setting.Value!, CultureInfo.InvariantCulture)
        : throw new FormatException("a time must have the form hours:minutes:seconds, such as 00:00:30.");

    public static TimeSpan? OptionalTime(IConfigurationSection setting)
        => string.IsNullOrEmpty(setting.Value) ? null : Time(setting);

    public static bool Flag(IConfigurationSection setting) => bool.Parse(Required(setting));
}
