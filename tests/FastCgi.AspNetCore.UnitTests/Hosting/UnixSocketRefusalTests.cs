namespace FastCgi.AspNetCore.UnitTests.Hosting;

/// <summary>
/// Refusals for an ordinary user: the error names the user, the cause, and the fix, and no file remains.
/// </summary>
public sealed class UnixSocketRefusalTests : IDisposable
{
    private const UnixFileMode All = (UnixFileMode)0x1FF;
    private const UnixFileMode ReadOnly = (UnixFileMode)0x16D;

    // A folder that everyone may enter. The one in TMPDIR may be private.
    private readonly DirectoryInfo _folder = Directory.CreateDirectory($"/tmp/fastcgi-{Guid.NewGuid():N}");
    private readonly CollectedLogs _logs = new();

    public UnixSocketRefusalTests() => _folder.UnixFileMode = All;

    private string SocketPath => Path.Combine(_folder.FullName, "app.sock");

    public void Dispose()
    {
        _folder.UnixFileMode = All;
        _folder.Delete(recursive: true);
        _logs.Dispose();
    }

    [Fact]
    public void Listen_FolderIsNotWritable_ErrorNamesUserAndFolder()
    {
        _folder.UnixFileMode = ReadOnly;

        var message = Refuse();

        Assert.StartsWith($"Failed to listen on fastcgi://unix:{SocketPath}: the user {Environment.UserName} cannot "
            + $"create a socket in {_folder.FullName}: ", message);
        Assert.EndsWith(
            $". Make the folder writable for the user or for its group ({SystemAccounts.MembershipAdvice}), or choose "
                + "another.",
            message);
    }

    /// <summary>A container may run as any number.</summary>
    [RootFact]
    public void Listen_UserWithoutAName_ErrorHasItsNumber()
    {
        const uint User = 12_345_678;
        _folder.UnixFileMode = ReadOnly;
        var message = "";

        Sandbox.RunAs(
            User, () => message = Assert.Throws<IOException>(() => Listen(SocketPath, static _ => { })).Message);

        Assert.Contains($": the user {User} cannot create a socket in ", message);
    }

    [Fact]
    public void Listen_FolderCannotBeCreated_ErrorNamesIt()
    {
        _folder.UnixFileMode = ReadOnly;
        var path = Path.Combine(_folder.FullName, "run", "app.sock");

        var message = Refuse(static listen => listen.CreateDirectory = true, path);

        Assert.StartsWith(
            $"Failed to listen on fastcgi://unix:{path}: the folder {_folder.FullName}/run cannot be created: ",
            message);
        Assert.DoesNotContain("..", message);
    }

    [Fact]
    public void Listen_SocketRefusesConnect_IsNotReplaced()
    {
        using var other = SocketFile.Bind(SocketPath);
        other.Listen();
        File.SetUnixFileMode(SocketPath, UnixFileMode.None);

        var message = Refuse();

        Assert.EndsWith(": a socket exists there, and this process may not connect to it to check whether it is in "
            + "use. Remove it, or choose another path.", message);
        Assert.True(File.Exists(SocketPath));
    }

    [Fact]
    public void Listen_StaleSocketCannotBeRemoved_Fails()
    {
        using (SocketFile.Bind(SocketPath))
            File.SetUnixFileMode(SocketPath, All);
        _folder.UnixFileMode = ReadOnly;

        var message = Refuse();

        Assert.StartsWith($"Failed to listen on fastcgi://unix:{SocketPath}: ", message);
        Assert.Contains("denied", message, StringComparison.OrdinalIgnoreCase);
        Assert.True(File.Exists(SocketPath));
    }

    /// <summary>The new file cannot be removed either, but this must not be the reported error.</summary>
    [Theory]
    [InlineData(false, " cannot replace the file there: Read-only file system")]
    [InlineData(true, " cannot create a socket in ")]
    public void Listen_FileCannotBeReplacedOrRemoved_ReportsFirstError(bool isTemporaryThere, string why)
    {
        const int ReadOnlyFiles = 30;
        if (isTemporaryThere)
            SocketFile.Bind(SocketPath + "~").Dispose();
        IOException? error = null;

        Sandbox.Run(SystemCall.Rename, ReadOnlyFiles, () => Sandbox.Run(SystemCall.Unlink, ReadOnlyFiles, () =>
            error = Assert.Throws<IOException>(() => Listen(SocketPath, static _ => { }))));

        Assert.StartsWith(
            $"Failed to listen on fastcgi://unix:{SocketPath}: the user {Environment.UserName}{why}",
            error!.Message);
    }

    [Theory]
    [InlineData("root", null, "'root:'")]
    [InlineData(null, "root", "':root'")]
    [InlineData("root", "root", "'root:root'")]
    public void Listen_OwnerIsNotPermitted_FailsAndRemovesTheFile(string? owner, string? group, string receivers)
    {
        var message = Refuse(listen => (listen.Owner, listen.Group) = (owner, group));

        Assert.Contains(
            $": the user {Environment.UserName} cannot change the owner of the socket to {receivers}: ",
            message);
        Assert.EndsWith(
            $". Only root can set Owner; members of a group can set Group ({SystemAccounts.MembershipAdvice}).",
            message);
        Assert.Empty(_folder.EnumerateFileSystemInfos());
    }

    [RootTheory]
    [InlineData("daemon", null)]
    [InlineData(null, "daemon")]
    [InlineData("daemon", "daemon")]
    [InlineData("", "")]
    public void Listen_OwnerOrGroup_FileHasThemAndTheirMode(string? owner, string? group)
    {
        using var socket = Listen(SocketPath, listen => (listen.Owner, listen.Group) = (owner, group)).Socket;

        var permissions = SocketFile.GetPermissions(SocketPath)!;
        Assert.Equal(owner == "daemon" ? SystemAccounts.FindUser("daemon")!.Value : 0u, permissions.User);
        Assert.Equal(group == "daemon" ? SystemAccounts.FindGroup("daemon")!.Value : 0u, permissions.Group);
        Assert.Equal(owner == "daemon" || group == "daemon", (int)permissions.Mode == 0x1B0);
    }

    [Theory]
    [InlineData("no-such", null, "the user 'no-such' does not exist. Create it, or choose one from getent passwd.")]
    [InlineData(null, "no-such", "the group 'no-such' does not exist. Create it, or choose one from getent group.")]
    public void Listen_UnknownAccount_FailsWithHint(string? owner, string? group, string why)
    {
        var error = Assert.Throws<IOException>(
            () => Listen(SocketPath, listen => (listen.Owner, listen.Group) = (owner, group)));

        Assert.EndsWith(why, error.Message);
        Assert.Empty(_folder.EnumerateFileSystemInfos());
    }

    /// <summary>
    /// Invalid peers are detected only after the socket listens: it is closed, so that the next start replaces it.
    /// </summary>
    [Fact]
    public void Listen_InvalidPeers_NextStartSucceeds()
    {
        Assert.Throws<IOException>(() => Listen(SocketPath, static listen => listen.AllowedUsers.Add("no-such")));

        Listen(SocketPath, static _ => { }).Socket.Dispose();
    }

    /// <summary>In a folder such as /tmp, only the owner of a file may replace it.</summary>
    [RootFact]
    public void Listen_SocketLeftBehindByAnotherUser_ErrorAndOnlyItIsThere()
    {
        _folder.UnixFileMode = All | UnixFileMode.StickyBit;
        using (SocketFile.Bind(SocketPath))
            File.SetUnixFileMode(SocketPath, All);

        var message = Refuse();

        Assert.StartsWith($"Failed to listen on fastcgi://unix:{SocketPath}: the user {Environment.UserName} cannot "
            + "replace the file there: ", message);
        Assert.EndsWith(". Remove it, or choose another path.", message);
        Assert.Equal(SocketPath, Assert.Single(_folder.EnumerateFileSystemInfos()).FullName);
    }

    [Fact]
    public void ListenElsewhere_OtherSystems_SocketHasItsModeAndIsRemoved()
    {
        var path = Path.Combine(_folder.FullName, "run", "app.sock");
        using (var socket = ListenElsewhere(
            path, static listen => (listen.Mode, listen.CreateDirectory) = (UnixFileMode.UserWrite, true)).Socket)
        {
            Assert.Equal(UnixFileMode.UserWrite, File.GetUnixFileMode(path));
            using var client = TestSockets.Connect(new UnixDomainSocketEndPoint(path));
            Assert.EndsWith("choose another path.", Assert.Throws<IOException>(() => ListenElsewhere(path)).Message);
        }

        Assert.False(File.Exists(path));
        SocketFile.Bind(path).Dispose();
        using var again = ListenElsewhere(path).Socket;
        Assert.Equal(new UnixDomainSocketEndPoint(path), again.LocalEndPoint);
    }

    [Fact]
    public void ListenElsewhere_InvalidOption_Fails()
    {
        Assert.EndsWith("Owner and Group require Linux.", Assert.Throws<IOException>(() => ListenElsewhere(
            SocketPath, static listen => listen.Owner = "root")).Message);
        Assert.EndsWith("Owner and Group require Linux.", Assert.Throws<IOException>(() => ListenElsewhere(
            SocketPath, static listen => listen.Group = "root")).Message);
        _folder.UnixFileMode = ReadOnly;
        Sandbox.RunAsOrdinaryUser(() => Assert.Throws<SocketException>(() => ListenElsewhere(SocketPath)));
    }

    private ListeningSocket Listen(string path, Action<FastCgiListenOptions> configure)
    {
        var options = new FastCgiServerOptions();
        options.ListenUnixSocket(path, configure);
        return SocketBinder.Listen(options.ListenOptions.Single(), new InheritedSockets([]), _logs.CreateLogger(""));
    }

    private static ListeningSocket ListenElsewhere(string path, Action<FastCgiListenOptions>? configure = null)
    {
        var options = new FastCgiServerOptions();
        options.ListenUnixSocket(path, configure);
        return UnixSockets.ListenElsewhere(options.ListenOptions.Single(), new UnixDomainSocketEndPoint(path), path);
    }

    private string Refuse(Action<FastCgiListenOptions>? configure = null, string? path = null)
    {
        var message = "";
        Sandbox.RunAsOrdinaryUser(() => message = Assert.Throws<IOException>(
            () => Listen(path ?? SocketPath, configure ?? (static _ => { }))).Message);
        return message;
    }
}
