namespace FastCgi.AspNetCore.SocketTests.Hosting;

internal static class Descriptors
{
    /// <summary>The descriptors of this process, where the system tells.</summary>
    public static int Count() => OperatingSystem.IsLinux() ? Directory.EnumerateFileSystemEntries("/proc/self/fd").Count() : 0;
}
