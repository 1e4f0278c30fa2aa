namespace FastCgi.AspNetCore.UnitTests.Linux;

public sealed class SystemAccountsTests
{
    private const uint Nobodys = 1_234_567;

    [Fact]
    public void FindAndGetName_ByNameOrNumber()
    {
        Assert.Equal(0u, SystemAccounts.FindUser("root"));
        Assert.Equal(0u, SystemAccounts.FindGroup("root"));
        Assert.Equal(Nobodys, SystemAccounts.FindUser("1234567"));
        Assert.Equal(Nobodys, SystemAccounts.FindGroup("1234567"));
        Assert.Null(SystemAccounts.FindUser("no such user"));
        Assert.Null(SystemAccounts.FindGroup("no such group"));
        Assert.Null(LocalAccounts.Find("no such user"));
        Assert.Null(LocalAccounts.Find("root", "/nowhere/passwd", "/etc/group"));

        Assert.Equal("root", SystemAccounts.GetUserName(0));
        Assert.Equal("root", SystemAccounts.GetGroupName(0));
        Assert.Equal("1234567", SystemAccounts.GetUserName(Nobodys));
        Assert.Equal("1234567", SystemAccounts.GetGroupName(Nobodys));
    }

    /// <summary>Each group that names the user counts, and no other; a truncated line counts for no user.</summary>
    [Theory]
    [InlineData("app", 1_000u, new[] { 1_001u, 33u, 55u })]
    [InlineData("apple", 1_002u, new[] { 1_003u, 44u })]
    [InlineData("alone", 1_004u, new[] { 1_005u })]
    [InlineData("cut", null, null)]
    [InlineData("odd", null, null)]
    [InlineData("odder", null, null)]
    public void FindLocalAccount_AsTheFilesSay(string name, uint? user, uint[]? groups)
    {
        using var folder = new ScratchFolder();
        var users = folder.Write("passwd", """
            root:x:0:0:root:/root:/bin/sh
            cut:x:7

            odd:x:seven:7:::
            odder:x:7:seven:::
            apple:x:1002:1003:::
            app:x:1000:1001:::
            alone:x:1004:1005
            """u8.ToArray());
        var members = folder.Write("group", """
            app:x:1001:
            www:x:33:other,app
            cut:x:7

            fruit:x:44:apple
            odd:x:many:app
            late:x:55:app,last
            """u8.ToArray());

        var account = LocalAccounts.Find(name, users, members);

        Assert.Equal(user, account?.User);
        Assert.Equal(groups, account?.Groups);
        Assert.Equal(name switch { "app" => "app", "apple" => "1003", "alone" => "1005", _ => null }, account?.Group);
    }

    /// <summary>The class of the user decides, even if another class allows more.</summary>
    [Theory]
    [InlineData(0u, "000", true)]
    [InlineData(7u, "200", true)]
    [InlineData(7u, "022", false)]
    [InlineData(8u, "020", true)]
    [InlineData(8u, "202", false)]
    [InlineData(9u, "002", true)]
    [InlineData(9u, "220", false)]
    public void Permissions_OfAUser_AsTheSystemSees(uint user, string mode, bool isAllowed)
    {
        var permissions = new FilePermissions(User: 7, Group: 70, (UnixFileMode)Convert.ToInt32(mode, 8));
        uint[] groups = user == 8 ? [60, 70] : [60];

        Assert.Equal(isAllowed, permissions.AllowsWriting(user, groups));
        Assert.Equal(user == 0, permissions.AllowsEntering(user, groups));
        Assert.Equal(isAllowed, (permissions with
        {
            Mode = (UnixFileMode)(
            (int)permissions.Mode >> 1)
        }).AllowsEntering(user, groups));
    }

    [Fact]
    public async Task ThreadState_EndedThread_IsUnknown()
    {
        using var go = new ManualResetEventSlim();
        var id = Waiting.Signal<int>();
        var thread = new Thread(() =>
        {
            id.SetResult(ThreadClock.GetThreadId());
            go.Wait();
        });
        thread.Start();
        using var state = new ThreadStateFile(await id.Task.Within("the thread"));
        await Waiting.UntilAsync(() => state.IsSleeping == true, "the thread to sleep");

        go.Set();
        thread.Join();

        await Waiting.UntilAsync(() => state.IsSleeping is null, "the thread to be gone");
        using var none = new ThreadStateFile(int.MaxValue);
        Assert.Null(none.IsSleeping);
    }

    /// <summary>.NET ends the process if hundreds of threads use up the last descriptors.</summary>
    [Fact]
    public void ThreadState_ManyThreads_KeepFewFilesOpen()
    {
        using var folder = new ScratchFolder();
        var path = folder.Write("stat", "7 (name) S 1"u8.ToArray());
        var states = Enumerable.Range(0, 300).Select(_ => new ThreadStateFile(path)).ToList();

        var open = Directory.GetFiles("/proc/self/fd").Count(file => new FileInfo(file).LinkTarget == path);

        Assert.InRange(open, 0, 64);
        Assert.All(states, static state => Assert.True(state.IsSleeping));
        states.ForEach(static state => state.Dispose());
    }

    /// <summary>Waiting for a disk does not count as work either. A truncated line gives no information.</summary>
    [Theory]
    [InlineData("7 (name) S 1", true)]
    [InlineData("7 (name) D 1", true)]
    [InlineData("7 (name) R 1", false)]
    [InlineData("7 (name) T 1", false)]
    [InlineData("7 (name) R (S) S", true)]
    [InlineData("7 (name) ", null)]
    [InlineData("7 (name)", null)]
    [InlineData("", null)]
    public void ThreadState_AsTheFileSays(string text, bool? isSleeping)
    {
        using var folder = new ScratchFolder();
        using var state = new ThreadStateFile(folder.Write("stat", Encoding.ASCII.GetBytes(text)));

        Assert.Equal(isSleeping, state.IsSleeping);
    }
}
