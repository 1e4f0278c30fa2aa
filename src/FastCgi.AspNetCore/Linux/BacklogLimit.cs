using System.Globalization;

namespace FastCgi.AspNetCore.Linux;

/// <summary>How many connections the system holds for a listening socket until they are accepted, whatever the socket asks for.</summary>
internal static class BacklogLimit
{
    private const string LimitFile = "/proc/sys/net/core/somaxconn";

    /// <summary>The limit; none where it is not known.</summary>
    public static int Get() => Get(LimitFile);

    /// <summary>The limit that stands in a file; none where it cannot be read.</summary>
    public static int Get(string path)
    {
        try
        {
            var text = OperatingSystem.IsLinux() ? File.ReadAllText(path) : "";
            return int.TryParse(text, NumberStyles.AllowTrailingWhite, CultureInfo.InvariantCulture, out var limit) ? limit : int.MaxValue;
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return int.MaxValue;
        }
    }
}
