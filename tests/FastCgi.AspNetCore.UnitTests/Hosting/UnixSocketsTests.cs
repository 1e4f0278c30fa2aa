using System.Collections.Concurrent;
using System.Diagnostics;
using System.Globalization;
using System.Net.Sockets;
using System.Runtime.Versioning;
using FastCgi.AspNetCore.Hosting;
using FastCgi.AspNetCore.Linux;
using FastCgi.AspNetCore.Transport;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Abstractions;

namespace FastCgi.AspNetCore.UnitTests.Hosting;

/// <summary>Unix sockets, with the system's own files.</summary>
[SupportedOSPlatform("linux")]
public sealed class UnixSocketsTests : IDisposable
{
    private const UnixFileMode UserAndGroup = UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.GroupRead | UnixFileMode.GroupWrite;

    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("fastcgi-");

    private readonly CollectedLogs _logs = new();

    private string SocketPath => Path.Combine(_folder.FullName, "app.sock");

    [Fact]
    public void Listen_Mode_IsThatOfTheFile()
    {
        const UnixFileMode Mode = UserAndGroup | UnixFileMode.OtherRead | UnixFileMode.OtherWrite;
        using var socket = Listen(listen => listen.Mode = Mode).Socket;

        Assert.Equal(Mode, File.GetUnixFileMode(SocketPath));
        AssertAccepts(SocketPath);
    }

    /// <summary>Another thread connects as soon as it can: whoever is let in sees the mode that was asked for.</summary>
    [Fact]
    public async Task Listen_Mode_IsSetBeforeAnybodyCanConnect()
    {
        const int Times = 500;
        const UnixFileMode Mode = UnixFileMode.UserWrite | UnixFileMode.OtherWrite;
        var isOver = false;
        var path = SocketPath;
        var modes = new ConcurrentDictionary<UnixFileMode, int>();
        var connecting = Task.Factory.StartNew(Connect, CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default);

        for (var i = 0; i < Times; i++)
        {
            // A path of its own, so that the file that is looked at is the one that was connected to.
            Volatile.Write(ref path, Path.Combine(_folder.FullName, i.ToString(CultureInfo.InvariantCulture)));
            using var socket = UnixSockets.Listen(new FastCgiListenOptions(new UnixDomainSocketEndPoint(path)) { Mode = Mode }, new(path), NullLogger.Instance).Socket;
            var count = i;
            Assert.True(SpinWait.SpinUntil(() => modes.Values.Sum() > count, Waiting.Patience));
        }

        Volatile.Write(ref isOver, true);
        await connecting;
        Assert.Equal([Mode], modes.Keys);

        void Connect()
        {
            while (!Volatile.Read(ref isOver))
            {
                var file = new FileInfo(Volatile.Read(ref path));
                using var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
                using var arguments = new SocketAsyncEventArgs { RemoteEndPoint = new UnixDomainSocketEndPoint(file.FullName) };
                if (socket.ConnectAsync(arguments) || arguments.SocketError != SocketError.Success)
                    continue;
                if (file.Exists)
                    modes.AddOrUpdate(file.UnixFileMode, 1, static (_, count) => count + 1);
            }
        }
    }

    [Fact]
    public void Listen_OwnerAndGroup_ByNameOrNumberAndOnlyForThem()
    {
        var user = Run("id", "-un");
        var group = Run("id", "-g");
        using var socket = Listen(listen => (listen.Owner, listen.Group) = (user, group)).Socket;

        Assert.Equal($"{user} {group} 660", Run("stat", "-c", "%U %g %a", SocketPath));
    }

    [Fact]
    public void Listen_GroupAndMode_TheModeIsTheGivenOne()
    {
        using var socket = Listen(listen => (listen.Group, listen.Mode) = (Run("id", "-gn"), UnixFileMode.UserWrite)).Socket;

        Assert.Equal(UnixFileMode.UserWrite, File.GetUnixFileMode(SocketPath));
    }

    [Theory]
    [InlineData("no-such-user", null, "the user 'no-such-user' does not exist")]
    [InlineData(null, "no-such-group", "the group 'no-such-group' does not exist")]
    public void Listen_UnknownOwnerOrGroup_ErrorAndNothingIsMade(string? owner, string? group, string text)
    {
        AssertFails(text, listen => (listen.Owner, listen.Group) = (owner, group));

        Assert.Empty(_folder.EnumerateFileSystemInfos());
    }

    [Fact]
    public void Listen_NoFolder_ErrorSaysWhatToDo()
    {
        _folder.Delete();

        AssertFails("the folder of the socket does not exist", static _ => { });
    }

    [Fact]
    public void Listen_CreateDirectory_MakesTheFolders()
    {
        var path = Path.Combine(_folder.FullName, "run", "app", "app.sock");
        using var socket = Listen(path, static listen => listen.CreateDirectory = true).Socket;

        AssertAccepts(path);
    }

    [Fact]
    public void Listen_FileInTheWayOfTheFolder_Error()
    {
        var file = Path.Combine(_folder.FullName, "run");
        File.WriteAllText(file, "");

        AssertFails("cannot be created", static listen => listen.CreateDirectory = true, Path.Combine(file, "app", "app.sock"));
    }

    [Fact]
    public void Listen_SocketOfAKilledProcess_IsReplaced()
    {
        LeaveBehind();

        using var socket = Listen().Socket;

        AssertAccepts(SocketPath);
    }

    [Fact]
    public void Listen_SocketInUse_ErrorAndItIsLeftAlone()
    {
        using var other = Listen().Socket;

        AssertFails("the address is already in use", static _ => { });

        AssertAccepts(SocketPath);
    }

    [Fact]
    public void Listen_BacklogOfTheOtherIsFull_Error()
    {
        using var other = Listen(static listen => listen.Backlog = 1).Socket;
        using var first = Connect(SocketPath);
        using var second = Connect(SocketPath);

        AssertFails("the address is already in use", static _ => { });
    }

    [Theory]
    [InlineData("file")]
    [InlineData("folder")]
    [InlineData("link")]
    public void Listen_SomethingElseAtThePath_ErrorAndItIsLeftAlone(string what)
    {
        if (what == "file")
            File.WriteAllText(SocketPath, "precious");
        else if (what == "folder")
            Directory.CreateDirectory(SocketPath);
        else
            File.CreateSymbolicLink(SocketPath, "/nowhere");

        AssertFails("the path exists and is not a socket", static _ => { });

        Assert.Equal("app.sock", Assert.Single(_folder.EnumerateFileSystemInfos()).Name);
    }

    [Theory]
    [InlineData("app.sock")]
    [InlineData("./app.sock")]
    [InlineData(" /run/app.sock")]
    public void Listen_RelativePath_Error(string path) => AssertFails("the path of a unix socket must be absolute", static _ => { }, path);

    /// <summary>It reads as an abstract name does, and is none: the system would make a file in the current folder.</summary>
    [Fact]
    public void Listen_RelativePathThatReadsAsAName_Error()
    {
        var endPoint = new UnixDomainSocketEndPoint("@" + Guid.NewGuid());

        var error = Assert.Throws<IOException>(() => UnixSockets.Listen(new FastCgiListenOptions(endPoint), endPoint, NullLogger.Instance));

        Assert.Contains("the path of a unix socket must be absolute", error.Message, StringComparison.Ordinal);
        Assert.False(File.Exists(endPoint.ToString()));
    }

    [Fact]
    public async Task Remove_OwnFile_IsRemoved()
    {
        var listening = Listen();
        using var socket = listening.Socket;

        await listening.RemoveAsync();

        Assert.False(File.Exists(SocketPath));
    }

    [Fact]
    public async Task Remove_AnotherFileAtThePath_IsLeftAlone()
    {
        var listening = Listen();
        using (var socket = listening.Socket)
        {
            File.Delete(SocketPath);
            File.WriteAllText(SocketPath, "precious");
            await listening.RemoveAsync();
        }

        Assert.Equal("precious", File.ReadAllText(SocketPath));
    }

    /// <summary>Anybody who can read the folder can lock it, for as long as he likes.</summary>
    [Fact]
    public async Task ListenAndRemove_FolderIsLockedForEver_GoOnAfterAWhileAndSaySo()
    {
        using var folder = new FolderLock(SocketPath);
        Assert.True(folder.TryAcquire());

        var listening = await Task.Run(() => Listen()).WaitAsync(TimeSpan.FromSeconds(30));
        using var socket = listening.Socket;
        AssertAccepts(SocketPath);
        await Task.Run(async () => await listening.RemoveAsync()).WaitAsync(TimeSpan.FromSeconds(30));

        Assert.False(File.Exists(SocketPath));
        Assert.Equal(2, _logs.All.Count(static entry => entry is { Level: LogLevel.Warning, EventName: "FolderLocked" }));
        Assert.All(_logs.All, entry => Assert.Contains(_folder.FullName, entry.Message, StringComparison.Ordinal));
    }

    [Fact]
    public async Task Listen_FolderIsLockedForAWhile_WaitsForIt()
    {
        var folder = new FolderLock(SocketPath);
        Assert.True(folder.TryAcquire());
        var listening = Task.Run(() => Listen());
        Assert.False(File.Exists(SocketPath));

        folder.Dispose();

        using var socket = (await listening.WaitAsync(TimeSpan.FromSeconds(30))).Socket;
        AssertAccepts(SocketPath);
        Assert.Empty(_logs.All);
    }

    [Fact]
    public void Listen_AbstractName_NoFileAndInUseIsAnError()
    {
        var name = "@fastcgi-" + Guid.NewGuid();
        using var socket = Listen(name, static _ => { }).Socket;

        AssertAccepts(name);
        AssertFails("the address is already in use", static _ => { }, name);
    }

    [Fact]
    public void Listen_AbstractNameWithMode_Error()
        => AssertFails("do not apply to an abstract socket", static listen => listen.Mode = UserAndGroup, "@fastcgi-mode");

    [Fact]
    public void Listen_LongestPath_IsBound()
    {
        var path = Path.Combine(_folder.FullName, new string('x', 106 - _folder.FullName.Length));
        using var socket = Listen(path, static _ => { }).Socket;

        Assert.Equal(107, path.Length);
        AssertAccepts(path);
    }

    [Fact]
    public async Task Listen_ManyAtOnce_OneWins()
    {
        LeaveBehind();
        using var start = new Barrier(4);
        var results = await Task.WhenAll(Enumerable.Range(0, 4).Select(_ => Task.Factory.StartNew(
            () =>
            {
                start.SignalAndWait();
                try
                {
                    return Listen();
                }
                catch (IOException)
                {
                    return null;
                }
            },
            CancellationToken.None,
            TaskCreationOptions.LongRunning,
            TaskScheduler.Default)));

        using var socket = Assert.Single(results.OfType<ListeningSocket>()).Socket;
        AssertAccepts(SocketPath);
    }

    [Fact]
    public void Listen_FileOptionsOnATcpPort_Error()
    {
        var options = new FastCgiServerOptions();
        options.ListenLocalhost(1, static listen => listen.Group = "www-data");

        var error = Assert.Throws<IOException>(() => SocketBinder.Listen(options.ListenOptions[0], new InheritedSockets([]), NullLogger.Instance));

        Assert.Contains("apply only to the file of a unix socket", error.Message, StringComparison.Ordinal);
    }

    public void Dispose()
    {
        if (_folder.Exists)
            _folder.Delete(recursive: true);
    }

    private ListeningSocket Listen(string path, Action<FastCgiListenOptions> configure)
    {
        var options = new FastCgiServerOptions();
        options.ListenUnixSocket(path, configure);
        return SocketBinder.Listen(options.ListenOptions.Single(), new InheritedSockets([]), _logs.CreateLogger(""));
    }

    private ListeningSocket Listen(Action<FastCgiListenOptions>? configure = null) => Listen(SocketPath, configure ?? (static _ => { }));

    /// <summary>A socket whose process was killed: its file is there, and nobody listens.</summary>
    private void LeaveBehind() => Listen().Socket.Dispose();

    private void AssertFails(string text, Action<FastCgiListenOptions> configure, string? path = null)
    {
        var error = Assert.Throws<IOException>(() => Listen(path ?? SocketPath, configure));

        Assert.StartsWith($"Failed to listen on fastcgi://unix:{path ?? SocketPath}: ", error.Message, StringComparison.Ordinal);
        Assert.Contains(text, error.Message, StringComparison.Ordinal);
        Assert.DoesNotContain('\n', error.Message);
    }

    private static void AssertAccepts(string path)
    {
        using var client = Connect(path);
        Assert.True(client.Connected);
    }

    private static Socket Connect(string path)
    {
        var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        socket.Connect(EndpointAddress.ToUnixEndPoint(path));
        return socket;
    }

    private static string Run(string program, params string[] arguments)
    {
        using var process = Process.Start(new ProcessStartInfo(program, arguments) { RedirectStandardOutput = true })!;
        return process.StandardOutput.ReadToEnd().Trim();
    }
}
