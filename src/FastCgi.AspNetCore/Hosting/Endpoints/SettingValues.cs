namespace FastCgi.AspNetCore.Hosting.Endpoints;

internal static class SettingValues
{
    public static string Required(string? value) => value ?? throw new FormatException("a value is missing.");

    /// <summary>Parses the name of an enumeration member. Unlike <see cref="Enum"/>, rejects numbers.</summary>
    public static T Choice<T>(string? value)
        where T : struct, Enum
    {
        var name = Enum.GetNames<T>()
            .FirstOrDefault(name => name.Equals(value, StringComparison.OrdinalIgnoreCase));
        return name is not null
            ? Enum.Parse<T>(name)
            : throw new FormatException($"it must be one of {string.Join(", ", Enum.GetNames<T>())}.");
    }

    public static int Number(string? value)
        => int.Parse(Required(value), NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture);

    public static long Size(string? value) => Number(value);

    public static long? OptionalNumber(string? value)
        => string.IsNullOrEmpty(value)
            ? null
            : long.Parse(value, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture);

    /// <summary>Parses a number. Unlike <see cref="double"/>, rejects NaN and Infinity.</summary>
    public static double DecimalNumber(string? value)
        => double.Parse(Required(value), NumberStyles.AllowDecimalPoint, CultureInfo.InvariantCulture) is var number
            && double.IsFinite(number)
            ? number
            : throw new FormatException("it is not a number.");

    /// <summary>Parses a time. Rejects a plain number, which would be days.</summary>
    public static TimeSpan Time(string? value)
        => Required(value) is var time && time.Contains(':', StringComparison.Ordinal)
        ? TimeSpan.Parse(time, CultureInfo.InvariantCulture)
        : throw new FormatException("a time must have the form hours:minutes:seconds, such as 00:00:30.");

    public static TimeSpan? OptionalTime(string? value) => string.IsNullOrEmpty(value) ? null : Time(value);

    public static bool Flag(string? value) => bool.Parse(Required(value));
}
