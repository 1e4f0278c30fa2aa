using System.Globalization;

namespace FastCgi.AspNetCore.Accounts;

/// <param name="Group">The name of the primary group, or its number if it has no name.</param>
/// <param name="Groups">The numbers of all groups, the primary group first.</param>
internal sealed record LocalAccount(string Name, uint User, string Group, IReadOnlyList<uint> Groups);

/// <summary>The local users in /etc/passwd: a directory service may respond slowly.</summary>
internal static class LocalAccounts
{
    /// <summary>The web-server users of common distributions; Debian always has www-data.</summary>
    public static IReadOnlyList<string> OfWebServers { get; } =
        ["nginx", "apache", "http", "caddy", "lighttpd", "haproxy", "wwwrun", "www-data"];

    public static LocalAccount? Find(string name) => Find(name, "/etc/passwd", "/etc/group");

    public static LocalAccount? Find(string name, string userFile, string groupFile)
    {
        var account = ReadFields(userFile).Find(fields => fields.Length > 3 && fields[0] == name);
        if (account is null || Number(account[2]) is not { } user || Number(account[3]) is not { } group)
            return null;

        var groups = ReadFields(groupFile).Where(static fields => fields.Length > 3 && Number(fields[2]) is not null)
            .ToList();
        var main = groups.Find(fields => Number(fields[2]) == group)?[0] ?? account[3];
        var others = groups.Where(fields => fields[3].Split(',').Contains(name))
            .Select(static fields => Number(fields[2])).OfType<uint>();
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
