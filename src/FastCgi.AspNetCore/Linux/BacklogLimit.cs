namespace FastCgi.AspNetCore.Linux;

/// <summary>The maximum backlog that the system allows for a listening socket.</summary>
internal static class BacklogLimit
{
    public static int Get(string path = "/proc/sys/net/core/somaxconn")
    {
        try
        {
            var text = OperatingSystem.IsLinux() ? File.ReadAllText(path) : "";
            return int.TryParse(text, NumberStyles.AllowTrailingWhite, CultureInfo.InvariantCulture, out var limit)
                ? limit
                : int.MaxValue;
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return int.MaxValue;
        }
    }
}
