namespace FastCgi.AspNetCore.UnitTests.Linux;

public sealed class ThreadLimitTests : IDisposable
{
    private readonly ScratchFolder _folder = new();

    public void Dispose() => _folder.Dispose();

    [Theory]
    [InlineData(3, 0, 3)]
    [InlineData(4, 0, 3)]
    [InlineData(512, 20, 364)]
    [InlineData(1_024, 0, 768)]
    [InlineData(4_915, 0, 4_659)]
    [InlineData(20, 18, 1)]
    public void GetForHandlers_LeavesAQuarterAndAtMost256(long limit, long used, int count)
    {
        WriteGroup("0::/app", "app", limit, used);

        Assert.Equal(count, Get());
    }

    [Theory]
    [InlineData("0::/app", "app")]
    [InlineData("0::/", "")]
    [InlineData("0::/app/inner/most", "app")]
    [InlineData("8:pids:/app", "pids/app")]
    [InlineData("8:cpu,pids:/app", "cpu,pids/app")]
    [InlineData("8:pids:/docker/abc", "pids")]
    public void GetForHandlers_LimitOfTheGroupOrOneAround_Counts(string group, string folder)
    {
        WriteGroup(group, folder, 200, 100);

        Assert.Equal(50, Get());
    }

    [Theory, InlineData(true), InlineData(false)]
    public void GetForHandlers_NoLimitIsKnown_IsUnlimited(bool hasFiles)
    {
        if (hasFiles)
        {
            Write("proc/self/cgroup", "nonsense\n4:memory:/\n0::/app\n");
            Write("groups/memory/pids.max", "1\n");
            Write("groups/app/pids.max", "max\n");
        }

        Assert.Equal(int.MaxValue, Get());
    }

    [Fact]
    public void GetForHandlers_LimitOfTheUser_Counts() => Assert.Equal(75, Get(userLimit: 100));

    private int Get(long? userLimit = null) => ResourceLimits.GetHandlerThreads(
        _folder.GetPath("proc"), _folder.GetPath("groups"), userLimit);

    private void WriteGroup(string group, string folder, long limit, long used)
    {
        Write("proc/self/cgroup", "4:memory:/other\n" + group + "\n");
        Write($"groups/{folder}/pids.max", $"{limit}\n");
        Write($"groups/{folder}/pids.current", $"{used}\n");
    }

    private void Write(string path, string text)
    {
        path = _folder.GetPath(path);
        Directory.CreateDirectory(Path.GetDirectoryName(path)!);
        File.WriteAllText(path, text);
    }
}
