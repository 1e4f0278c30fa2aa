namespace FastCgi.AspNetCore.Linux;

/// <summary>Identifies the pipe of a descriptor.</summary>
internal static class PipeName
{
    /// <returns>A name that both ends share; <see langword="null"/> if it is not a pipe, or unknown.</returns>
    public static string? Get(int descriptor)
    {
        var target = new FileInfo($"/proc/self/fd/{descriptor}").LinkTarget;
        return target is not null && target.StartsWith("pipe:", StringComparison.Ordinal) ? target : null;
    }
}
