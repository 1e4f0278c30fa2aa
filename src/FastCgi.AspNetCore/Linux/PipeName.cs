namespace FastCgi.AspNetCore.Linux;

/// <summary>Which pipe a descriptor is an end of, as /proc tells.</summary>
internal static class PipeName
{
    /// <summary>A name that both ends have; <see langword="null"/> if it is no pipe, or the system does not tell.</summary>
    public static string? Get(int descriptor)
    {
        var target = new FileInfo($"/proc/self/fd/{descriptor}").LinkTarget;
        return target is not null && target.StartsWith("pipe:", StringComparison.Ordinal) ? target : null;
    }
}
