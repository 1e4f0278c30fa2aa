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

    /// <returns><see langword="null"/> for more than there can be.</returns>
    private static long? ReadLimit(string name)
    {
        var line = File.ReadLines("/proc/self/limits").Single(line => line.StartsWith(name, StringComparison.Ordinal));
        var soft = line[name.Length..].Split(' ', StringSplitOptions.RemoveEmptyEntries)[0];
        return soft != "unlimited"
            && long.Parse(soft, CultureInfo.InvariantCulture) is < int.MaxValue and var limit ? limit : null;
    }
}
