using FastCgi.AspNetCore.UnitTests.Diagnostics;

namespace FastCgi.AspNetCore.UnitTests.Linux;

public sealed class ThreadHeadroomTests : IDisposable
{
    private readonly ScratchFolder _folder = new();
    private readonly ManualTime _clock = new();

    public void Dispose() => _folder.Dispose();

    [Theory]
    [InlineData(3, 3)]
    [InlineData(4, 3)]
    [InlineData(512, 384)]
    [InlineData(1_024, 768)]
    [InlineData(1_028, 772)]
    [InlineData(4_915, 4_659)]
    public void CountForHandlers_LeavesAQuarterAndAtMost256(long limit, long count) => Assert.Equal(count, ThreadHeadroom.CountForHandlers(limit));

    [Theory]
    [InlineData("0::/app", "app")]
    [InlineData("0::/", "")]
    [InlineData("0::/app/inner/most", "app")]
    [InlineData("8:pids:/app", "pids/app")]
    [InlineData("8:cpu,pids:/app", "cpu,pids/app")]
    [InlineData("8:pids:/docker/abc", "pids")]
    public void IsReached_GroupOrOneThatItIsIn_AtTheLastOfItsThreads(string group, string folder)
    {
        Write("proc/self/cgroup", "4:memory:/other\n" + group + "\n");
        Write($"groups/{folder}/pids.max", "200\n");
        Write($"groups/{folder}/pids.current", "149\n");
        var headroom = Create(null);
        Assert.False(headroom.IsReached());

        Write($"groups/{folder}/pids.current", "150\n");
        Assert.True(headroom.IsReached());

        // As systemctl set-property does.
        Write($"groups/{folder}/pids.max", "max\n");
        Assert.False(headroom.IsReached());
    }

    [Fact]
    public void IsReached_NothingIsTold_IsNot()
    {
        Assert.False(Create(null).IsReached());
        Write("proc/self/cgroup", "nonsense\n4:memory:/\n");
        Write("groups/memory/pids.max", "1\n");
        Write("groups/memory/pids.current", "1\n");
        Assert.False(Create(null).IsReached());
    }

    /// <summary>To count them is a file for each process, so that what was asked for is added meanwhile.</summary>
    [Fact]
    public void IsReached_ThreadsOfTheUser_AreCountedOnceASecond()
    {
        WriteProcess("self", 1_000, 30);
        WriteProcess("17", 1_000, 30);
        WriteProcess("18", 1_000, 43);
        WriteProcess("19", 33, 500);
        WriteProcess("20", null, 500);
        var headroom = Create(100);
        Assert.False(headroom.IsReached());
        Assert.False(headroom.IsReached());
        Assert.True(headroom.IsReached());

        _clock.Now += TimeSpan.FromSeconds(1) - TimeSpan.FromTicks(1);
        Assert.True(headroom.IsReached());
        _clock.Now += TimeSpan.FromTicks(1);
        Assert.False(headroom.IsReached());

        _clock.Now += TimeSpan.FromSeconds(1);
        WriteProcess("18", 1_000, 45);
        Assert.True(headroom.IsReached());
    }

    [Theory]
    [InlineData(74, false)]
    [InlineData(75, true)]
    public void IsReached_ThreadsOfTheSystem_AreEnoughToKnowThatThoseOfTheUserAreFew(int threads, bool isReached)
    {
        Write("proc/loadavg", $"0.42 0.40 0.41 2/{threads} 1234\n");
        WriteProcess("self", 1_000, 30);
        WriteProcess("17", 1_000, 90);

        Assert.Equal(isReached, Create(100).IsReached());
    }

    private ThreadHeadroom Create(long? userLimit) => new(_folder.GetPath("proc"), _folder.GetPath("groups"), () => userLimit, _clock);

    private void WriteProcess(string name, int? user, int threads)
        => Write($"proc/{name}/status", $"Name:\tdotnet\n{(user is null ? "" : $"Uid:\t{user}\t{user}\t{user}\t{user}\n")}FDSize:\t64\nThreads:\t{threads}\n");

    private void Write(string path, string text)
    {
        path = _folder.GetPath(path);
        Directory.CreateDirectory(Path.GetDirectoryName(path)!);
        File.WriteAllText(path, text);
    }
}
