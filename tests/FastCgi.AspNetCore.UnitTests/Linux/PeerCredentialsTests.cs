namespace FastCgi.AspNetCore.UnitTests.Linux;

/// <summary>Who is at the other end of a unix socket, and whether it may be there.</summary>
public sealed partial class PeerCredentialsTests : IDisposable
{
    private const uint Group = 54_321;
    private const uint LastGroup = 54_323;
    private static readonly uint[] s_supplementary = [54_322, LastGroup];

    private readonly Socket _listener = TestSockets.ListenUnix();
    private readonly Socket _peer;
    private readonly Socket _connection;

    public PeerCredentialsTests()
    {
        _peer = TestSockets.MakePeer(_listener);
        // The groups are those of the thread that connects, and of no other thread of this process.
        var thread = new Thread(() =>
        {
            if (Environment.IsPrivilegedProcess)
                SetGroups(Group, s_supplementary);
            _peer.Connect(_listener.LocalEndPoint!);
        });
        thread.Start();
        thread.Join();
        _connection = _listener.Accept();
    }

    public void Dispose()
    {
        _connection.Dispose();
        _peer.Dispose();
        _listener.Dispose();
    }

    [RootFact]
    public void Get_OfAProcess_UserAndAllGroups()
    {
        var peer = PeerCredentials.Get(_connection)!;

        Assert.Equal(0u, peer.User);
        Assert.Equal((uint)Environment.ProcessId, peer.Process);
        Assert.Equal([Group, .. s_supplementary], peer.Groups);
    }

    [RootTheory]
    [InlineData(Group, true)]
    [InlineData(LastGroup, true)]
    [InlineData(LastGroup + 1, false)]
    public void Allows_Connection_WhoseProcessIsInAGroup(uint group, bool isAllowed)
    {
        var policy = new PeerPolicy { Groups = [group] };

        Assert.True(policy.IsRestricted);
        Assert.Equal(isAllowed, policy.Allows(_connection));
    }

    /// <summary>The calls themselves: those of the library change all threads.</summary>
    private static void SetGroups(uint group, uint[] supplementary)
    {
        var (setGroups, setGroup) =
            RuntimeInformation.ProcessArchitecture == Architecture.X64 ? (116, 119) : (159, 149);
        Assert.Equal(0, syscall(setGroups, supplementary.Length, supplementary));
        Assert.Equal(0, syscall(setGroup, (nint)group, (nint)group, (nint)group));
    }

    [LibraryImport("libc")]
    private static partial nint syscall(nint number, nint count, uint[] list);

    [LibraryImport("libc")]
    private static partial nint syscall(nint number, nint real, nint effective, nint saved);
}
