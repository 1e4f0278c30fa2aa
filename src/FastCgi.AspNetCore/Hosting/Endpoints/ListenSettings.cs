namespace FastCgi.AspNetCore.Hosting.Endpoints;

using static SettingValues;

internal static class ListenSettings
{
    private static readonly Dictionary<string, Action<string?, FastCgiListenOptions>> s_settings =
        new(StringComparer.OrdinalIgnoreCase)
        {
            ["mode"] = static (value, listen) => listen.Mode = Mode(Required(value)),
            ["owner"] = static (value, listen) => listen.Owner = value,
            ["group"] = static (value, listen) => listen.Group = value,
            ["createDirectory"] = static (value, listen) => listen.CreateDirectory = Flag(value),
            ["backlog"] = static (value, listen) => listen.Backlog = Number(value),
            ["allowedAddresses"] = static (value, listen) => AddAll(value, listen.AllowedAddresses),
            ["allowedUsers"] = static (value, listen) => AddAll(value, listen.AllowedUsers),
            ["allowedGroups"] = static (value, listen) => AddAll(value, listen.AllowedGroups),
        };

    public static IReadOnlyCollection<string> Names => s_settings.Keys;

    public static bool IsList(string name) => name.StartsWith("allowed", StringComparison.OrdinalIgnoreCase);

    public static bool TryApply(string name, string? value, FastCgiListenOptions listen)
    {
        if (!s_settings.TryGetValue(name, out var apply))
            return false;

        apply(value, listen);
        return true;
    }

    private static void AddAll(string? value, IList<string> list)
    {
        var items = value?.Split(',', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries) ?? [];
        if (items.Length == 0)
            throw new FormatException("the list is empty; remove it to allow all peers.");
        foreach (var item in items)
            list.Add(item);
    }

    private static UnixFileMode Mode(string digits)
    {
        if (digits.Length == 4 && digits[0] == '0')
            digits = digits[1..];
        return digits.Length == 3 && digits.All(static digit => digit is >= '0' and <= '7')
            ? (UnixFileMode)Convert.ToInt32(digits, 8)
            : throw new FormatException("a mode has three octal digits, such as 660.");
    }
}
