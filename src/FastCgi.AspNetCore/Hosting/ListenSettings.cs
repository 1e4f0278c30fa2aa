using System.Globalization;

namespace FastCgi.AspNetCore.Hosting;

/// <summary>The options of an endpoint as text: in the configuration, and behind the question mark of an address.</summary>
internal static class ListenSettings
{
    /// <summary>The names, for messages.</summary>
    public const string Names = "mode, owner, group, createDirectory, backlog, allowedAddresses, allowedUsers and allowedGroups";

    /// <summary>Sets an option.</summary>
    /// <returns><see langword="false"/> if there is none of the name.</returns>
    /// <exception cref="FormatException">The value is not understood.</exception>
    /// <exception cref="OverflowException">The value is too large.</exception>
    /// <exception cref="ArgumentException">The option does not take the value.</exception>
    public static bool TryApply(string name, string? value, FastCgiListenOptions listen)
    {
        switch (name.ToUpperInvariant())
        {
            case "BACKLOG":
                listen.Backlog = int.Parse(Required(value), NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture);
                return true;
            case "MODE":
                listen.Mode = Mode(Required(value));
                return true;
            case "OWNER":
                listen.Owner = value;
                return true;
            case "GROUP":
                listen.Group = value;
                return true;
            case "CREATEDIRECTORY":
                listen.CreateDirectory = bool.Parse(Required(value));
                return true;
            case "ALLOWEDADDRESSES":
                AddAll(value, listen.AllowedAddresses);
                return true;
            case "ALLOWEDUSERS":
                AddAll(value, listen.AllowedUsers);
                return true;
            case "ALLOWEDGROUPS":
                AddAll(value, listen.AllowedGroups);
                return true;
            default:
                return false;
        }
    }

    private static string Required(string? value) => value ?? throw new FormatException("a value is missing.");

    /// <summary>A list, which is one value with commas.</summary>
    private static void AddAll(string? value, IList<string> list)
    {
        var items = value?.Split(',', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries) ?? [];
        if (items.Length == 0)
            throw new FormatException("the list is empty; leave it out to allow everybody.");
        foreach (var item in items)
            list.Add(item);
    }

    /// <summary>Permissions, as chmod has them.</summary>
    private static UnixFileMode Mode(string digits)
    {
        if (digits.Length == 4 && digits[0] == '0')
            digits = digits[1..];
        return digits.Length == 3 && digits.All(static digit => digit is >= '0' and <= '7')
            ? (UnixFileMode)Convert.ToInt32(digits, 8)
            : throw new FormatException("a mode is three octal digits, such as 660.");
    }
}
