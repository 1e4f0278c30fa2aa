namespace FastCgi.AspNetCore.Linux;

/// <summary>Reads files that describe the system, such as those in /proc.</summary>
internal static class SystemFile
{
    /// <returns>The text of a file; <see langword="null"/> if it cannot be read.</returns>
    public static string? Read(string path)
    {
        try
        {
            return File.ReadAllText(path);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return null;
        }
    }
}
