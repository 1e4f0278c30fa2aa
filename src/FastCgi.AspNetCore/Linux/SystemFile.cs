namespace FastCgi.AspNetCore.Linux;

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
