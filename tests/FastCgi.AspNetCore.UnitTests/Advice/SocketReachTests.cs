namespace FastCgi.AspNetCore.UnitTests.Advice;

/// <summary>The startup message about who can connect to a Unix socket.</summary>
public sealed class SocketReachTests : IDisposable
{
    // A user of every distribution that no test runs as.
    private const string WebServer = "daemon";

    private const UnixFileMode All = (UnixFileMode)0x1FF;

    private static readonly string s_owner =
        Environment.UserName == "root" ? "root" : $"root, user {Environment.UserName}";

    // A folder that everyone may enter. The one in TMPDIR may be private.
    private readonly DirectoryInfo _folder = Directory.CreateDirectory($"/tmp/fastcgi-{Guid.NewGuid():N}");
    private readonly CollectedLogs _logs = new();
    private readonly Socket _socket;

    public SocketReachTests()
    {
        _folder.UnixFileMode = All;
        _socket = SocketFile.Bind(SocketPath);
    }

    private string SocketPath => Path.Combine(_folder.FullName, "app.sock");

    [Theory]
    [InlineData(0x1B6, "everyone (mode 0666, ")]
    [InlineData(0x1FF, "everyone (mode 0777, ")]
    public void Report_OpenToAll_IsOneLine(int mode, string who)
    {
        var (level, name, message) = Report(mode);

        Assert.Equal((LogLevel.Information, "SocketAccess"), (level, name));
        Assert.Contains($"{SocketPath} accepts connections from {who}", message);
        Assert.EndsWith($", including the web-server users {WebServer}.", message);
    }

    [Theory]
    [InlineData(0x1ED, false)]
    [InlineData(0x180, false)]
    [InlineData(0x1B0, true)]
    public void Report_ClosedToTheWebServer_TheSettingToAdd(int mode, bool isGroupIn)
    {
        var (level, name, message) = Report(mode);

        Assert.Equal((LogLevel.Warning, "SocketOutOfReach"), (level, name));
        Assert.Contains(
            $"only from {s_owner}{(isGroupIn ? ", group " : " (mode ")}", message, StringComparison.Ordinal);
        Assert.Contains($"({WebServer}) can connect: {WebServer} cannot write to it.", message);
        Assert.Contains($" 'fastcgi://unix:{SocketPath}?mode=0660&group={WebServer}'.", message);
        Assert.Equal(!Environment.IsPrivilegedProcess, message.Contains(SystemAccounts.MembershipAdvice));
    }

    /// <summary>A reader copies the address to a command line.</summary>
    [Fact]
    public void Report_AddressToAdd_IsOneArgumentOfAShell()
    {
        var folder = _folder.CreateSubdirectory("it's $HOME & more");
        folder.UnixFileMode = All;
        var path = Path.Combine(folder.FullName, "app.sock");
        using var socket = SocketFile.Bind(path);
        File.SetUnixFileMode(path, UnixFileMode.UserWrite);
        SocketReach.Report(path, PeerPolicy.Everybody, [WebServer], _logs.CreateLogger(""));
        var message = Assert.Single(_logs.All).Message;
        var start = message.IndexOf("'fastcgi://", StringComparison.Ordinal);
        var copied = message[start..(message.IndexOf(
            "group=daemon'", start, StringComparison.Ordinal) + "group=daemon'".Length)];

        using var shell = System.Diagnostics.Process.Start(new System.Diagnostics.ProcessStartInfo(
            "sh", ["-c", $"printf '<%s>' {copied}"])
        { RedirectStandardOutput = true })!;

        Assert.Equal($"<fastcgi://unix:{path}?mode=0660&group=daemon>", shell.StandardOutput.ReadToEnd());
    }

    [Fact]
    public void Report_FolderClosedToTheWebServer_TheFolderAndWhatToDo()
    {
        _folder.UnixFileMode = UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute;

        var (level, _, message) = Report(0x1B6);

        Assert.Equal(LogLevel.Warning, level);
        Assert.Contains($"provided that they may enter {_folder.FullName} (mode 0700, ", message);
        Assert.Contains($"{WebServer} cannot enter the folder {_folder.FullName}. ", message);
        Assert.Contains($" Run chmod o+x '{_folder.FullName}'", message);
    }

    [Fact]
    public void Report_AllowedUsersWithoutTheWebServer_TheSetting()
    {
        var (level, _, message) = Report(0x1B6, new PeerPolicy { Users = [12_345_678] });

        Assert.Equal(LogLevel.Warning, level);
        Assert.Contains($"Add {WebServer} to AllowedUsers.", message);
    }

    /// <summary>No web server finds the socket, regardless of its mode.</summary>
    [Fact]
    public void Report_FolderOfThisServiceOnly_AnotherPath()
    {
        var mounts = Path.Combine(_folder.FullName, "mountinfo");
        File.WriteAllText(
            mounts, $"84 45 254:0 /tmp/systemd-private-0-app.service-0/tmp {_folder.FullName} rw - ext4 /dev/vda rw\n");
        File.SetUnixFileMode(SocketPath, All);

        SocketReach.Report(SocketPath, PeerPolicy.Everybody, [WebServer], _logs.CreateLogger(""), mounts);

        var log = Assert.Single(_logs.All);
        Assert.Equal((LogLevel.Warning, "SocketOutOfReach"), (log.Level, log.EventName));
        Assert.Contains($"systemd has given this service a {_folder.FullName} of its own (PrivateTmp=)", log.Message);
        Assert.DoesNotContain("To allow", log.Message);
    }

    [Fact]
    public void Report_NoWebServerAccount_NamesAllowedAccounts()
    {
        var (level, _, message) = Report(0x180, candidates: ["no-such-user"]);

        Assert.Equal(LogLevel.Information, level);
        Assert.Contains($" from {s_owner} (mode 0600, ", message);
    }

    /// <summary>Debian always has the user. In a container, the web server may run in another one.</summary>
    [Theory]
    [InlineData(null, "SocketAccess")]
    [InlineData("/usr/sbin/apache2", "SocketOutOfReach")]
    [InlineData("/usr/bin/caddy", "SocketOutOfReach")]
    public void Report_UserOfTheDistribution_IsAWarningOnlyIfAWebServerIsInstalled(string? program, string name)
    {
        File.SetUnixFileMode(SocketPath, UnixFileMode.UserWrite);

        SocketReach.Report(
            SocketPath, PeerPolicy.Everybody, ["www-data"], _logs.CreateLogger(""), exists: path => path == program);

        Assert.Equal(name, Assert.Single(_logs.All).EventName);
    }

    [Theory]
    [InlineData(false, "SupplementaryGroups=", "usermod")]
    [InlineData(true, "group_add", "fsGroup")]
    public void MembershipAdvice_NamesTheSettingsThatExistThere(bool isContainer, params string[] settings)
        => Assert.All(settings, setting => Assert.Contains(setting, SystemAccounts.GetMembershipAdvice(isContainer)));

    [Fact]
    public void Report_OneOfSeveralCan_IsNoWarning()
    {
        var (level, _, message) = Report(0x180, candidates: [WebServer, "root"]);

        Assert.Equal(LogLevel.Information, level);
        Assert.EndsWith(", including the web-server users root.", message);
    }

    public void Dispose()
    {
        _socket.Dispose();
        _folder.Delete(recursive: true);
    }

    private (LogLevel Level, string? Event, string Message) Report(
        int mode, PeerPolicy? peers = null, params string[] candidates)
    {
        File.SetUnixFileMode(SocketPath, (UnixFileMode)mode);
        SocketReach.Report(
            SocketPath,
            peers ?? PeerPolicy.Everybody,
            candidates.Length > 0 ? candidates : [WebServer],
            _logs.CreateLogger(""));
        var log = Assert.Single(_logs.All);
        return (log.Level, log.EventName, log.Message);
    }
}
