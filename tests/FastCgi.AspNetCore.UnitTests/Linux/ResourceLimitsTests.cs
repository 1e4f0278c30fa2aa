namespace FastCgi.AspNetCore.UnitTests.Linux;

public sealed class ResourceLimitsTests
{
    [Fact]
    public void Get_OnLinux_IsWhatTheSystemShows()
    {
        Assert.Equal(ReadLimit("Max open files") ?? int.MaxValue, ResourceLimits.GetDescriptors());
        // Root may exceed it.
        Assert.Equal(
            Environment.IsPrivilegedProcess ? null : ReadLimit("Max processes"), ResourceLimits.GetThreadsOfUser());
    }

    [Fact]
    public void BacklogLimit_AsTheFileSays_OrNone()
    {
        using var folder = new ScratchFolder();
        foreach (var (text, limit) in new[] { ("4096\n", 4_096), ("128", 128), ("many", int.MaxValue) })
            Assert.Equal(limit, ResourceLimits.GetBacklog(folder.Write("limit", Encoding.ASCII.GetBytes(text))));
        Assert.Equal(int.MaxValue, ResourceLimits.GetBacklog("/nowhere/somaxconn"));
        Assert.Equal(int.MaxValue, ResourceLimits.GetBacklog("/dev/null"));
        Assert.InRange(ResourceLimits.GetBacklog(), 1, int.MaxValue);
    }

    /// <returns><see langword="null"/> for more than there can be.</returns>
    private static long? ReadLimit(string name)
    {
        var line = File.ReadLines("/proc/self/limits").Single(line => line.StartsWith(name, StringComparison.Ordinal));
        var soft = line[name.Length..].Split(' ', StringSplitOptions.RemoveEmptyEntries)[0];
        return soft != "unlimited"
            && long.Parse(soft, CultureInfo.InvariantCulture) is < int.MaxValue and var limit ? limit : null;
    }
}
