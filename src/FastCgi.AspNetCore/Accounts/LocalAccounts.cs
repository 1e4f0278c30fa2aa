using System.Globalization;

namespace FastCgi.AspNetCore.Accounts;

/// <summary>A user of this machine.</summary>
/// <param name="Name">The name.</param>
/// <param name="User">The number.</param>
/// <param name="Group">The name of the main group, or its number if it has no name.</param>
/// <param name="Groups">The numbers of the main group, which is the first, and of the others.</param>
internal sealed record LocalAccount(string Name, uint User, string Group, IReadOnlyList<uint> Groups);

/// <summary>The users of this machine, from its files: a directory service may take long to answer.</summary>
internal static class LocalAccounts
{
    /// <summary>The users that web servers run as, in the packages of the usual distributions; Debian has www-data with or without one.</summary>
    public static IReadOnlyList<string> OfWebServers { get; } = ["nginx", "apache", "http", "caddy", "lighttpd", "haproxy", "wwwrun", "www-data"];

    /// <summary>Finds a user.</summary>
    /// <returns><see langword="null"/> if there is none of this name.</returns>
    public static LocalAccount? Find(string name) => Find(name, "/etc/passwd", "/etc/group");

    /// <summary>The same from other files of that kind.</summary>
    public static LocalAccount? Find(string name, string userFile, string groupFile)
    {
        var account = ReadFields(userFile).Find(fields => fields.Length > 3 && fields[0] == name);
        if (account is null || Number(account[2]) is not { } user || Number(account[3]) is not { } group)
            return null;

        var groups = ReadFields(groupFile).Where(static fields => fields.Length > 3 && Number(fields[2]) is not null).ToList();
        var main = groups.Find(fields => Number(fields[2]) == group)?[0] ?? account[3];
        var others = groups.Where(fields => fields[3].Split(',').Contains(name)).Select(static fields => Number(fields[2])).OfType<uint>();
        return new LocalAccount(name, user, main, [group, .. others]);
    }

    private static uint? Number(string text)
        => uint.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out var number) ? number : null;

    private static List<string[]> ReadFields(string file)
    {
        try
        {
            return [.. File.ReadLines(file).Select(static line => line.Split(':'))];
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return [];
        }
    }
}
