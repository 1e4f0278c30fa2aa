namespace FastCgi.AspNetCore.UnitTests.Hosting;

/// <summary>Unix sockets, with the system's own files.</summary>
public sealed class UnixSocketsTests : IDisposable
{
    private readonly DirectoryInfo _folder = new(new ScratchFolder().Path);

    private readonly CollectedLogs _logs = new();

    private string SocketPath => Path.Combine(_folder.FullName, "app.sock");

    [Theory]
    [InlineData(null, "660")]
    [InlineData(UnixFileMode.UserWrite, "200")]
    public void Listen_OwnerAndGroup_ByNameOrNumberAndOnlyForThemOrWithTheMode(UnixFileMode? mode, string expected)
    {
        var user = Run("id", "-un");
        var group = Run("id", "-g");
        using var socket = Listen(listen => (listen.Owner, listen.Group, listen.Mode) = (user, group, mode)).Socket;

        Assert.Equal($"{user} {group} {expected}", Run("stat", "-c", "%U %g %a", SocketPath));
    }

    [Theory]
    [InlineData("no folder", "the folder of the socket does not exist")]
    [InlineData("file", "exists and is not a socket")]
    [InlineData("folder", "exists and is not a socket")]
    [InlineData("link", "exists and is not a socket")]
    [InlineData("pipe", "exists and is not a socket")]
    public void Listen_NoSocketOrNoFolder_ErrorAndTheFileStays(string what, string text)
    {
        if (what == "no folder")
            _folder.Delete();
        else if (what == "file")
            File.WriteAllText(SocketPath, "precious");
        else if (what == "folder")
            Directory.CreateDirectory(SocketPath);
        else if (what == "link")
            File.CreateSymbolicLink(SocketPath, "/nowhere");
        else
            Run("mkfifo", SocketPath);

        AssertFails(text);

        Assert.Equal(what == "no folder", !_folder.Exists);
        Assert.True(!_folder.Exists || _folder.EnumerateFileSystemInfos().Single().Name == "app.sock");
    }

    [Fact]
    public void Listen_CreateDirectory_MakesTheFoldersUnlessAFileIsInTheWay()
    {
        var path = Path.Combine(_folder.FullName, "run", "app", "app.sock");
        using (var socket = Listen(path, static listen => listen.CreateDirectory = true).Socket)
            AssertAccepts(path);

        var file = Path.Combine(_folder.FullName, "file");
        File.WriteAllText(file, "");
        AssertFails(
            "cannot be created", Path.Combine(file, "app", "app.sock"), static listen => listen.CreateDirectory = true);
    }

    [Fact]
    [Contract("T24")]
    public void Listen_SocketOfAKilledProcess_IsReplaced()
    {
        LeaveBehind();

        using var socket = Listen().Socket;

        AssertAccepts(SocketPath);
    }

    [Theory]
    [Contract("T24")]
    [Values(4_096, 1)]
    public void Listen_SocketInUse_ErrorAndItIsLeftAlone(int backlog)
    {
        using var other = Listen(listen => listen.Backlog = backlog).Socket;
        // The connections that fill a backlog of one.
        using var first = Connect(SocketPath);
        using var second = Connect(SocketPath);

        AssertFails("the address is already in use");

        Assert.True(File.Exists(SocketPath));
    }

    /// <summary>It looks like an abstract name, but would create a file in the current folder.</summary>
    [Fact]
    public void Listen_RelativePathLikeAName_Fails()
    {
        var endPoint = new UnixDomainSocketEndPoint("@" + Guid.NewGuid());

        var error = Assert.Throws<IOException>(
            () => UnixSockets.Listen(new FastCgiListenOptions(endPoint), endPoint, NullLogger.Instance));

        Assert.Contains("the path of a Unix socket must be absolute", error.Message);
        Assert.False(File.Exists(endPoint.ToString()));
    }

    /// <summary>
    /// Another thread connects again and again while instances follow each other: each time one of them answers, or has
    /// closed its socket.
    /// </summary>
    [Fact]
    public async Task Listen_OneAfterTheOther_FileIsNeverMissingAndHasItsMode()
    {
        const UnixFileMode Mode = UnixFileMode.UserWrite | UnixFileMode.OtherWrite;
        var isOver = false;
        Listen(static listen => listen.Mode = Mode).Socket.Dispose();
        var connecting = Task.Factory.StartNew(
            Connect, CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default);

        for (var i = 0; i < 300; i++)
        {
            Listen(static listen => listen.Mode = Mode).Socket.Dispose();
            Assert.Equal(SocketPath, Assert.Single(_folder.EnumerateFileSystemInfos()).FullName);
        }

        Volatile.Write(ref isOver, true);
        Assert.Equal([SocketError.Success, SocketError.ConnectionRefused], (await connecting).Order());

        HashSet<SocketError> Connect()
        {
            var errors = new HashSet<SocketError> { SocketError.Success };
            while (!Volatile.Read(ref isOver))
            {
                using var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
                using var arguments =
                    new SocketAsyncEventArgs { RemoteEndPoint = new UnixDomainSocketEndPoint(SocketPath) };
                _ = socket.ConnectAsync(arguments);
                errors.Add(arguments.SocketError);
                Assert.Equal(Mode, File.GetUnixFileMode(SocketPath));
            }

            return errors;
        }
    }

    /// <summary>A process was killed between two steps, or another program uses the name.</summary>
    [Theory]
    [InlineData("left", null)]
    [InlineData("in use", "the address is already in use")]
    [InlineData("file", "app.sock~ exists and is not a socket")]
    public void Listen_TemporaryNameExists_IsReplacedOnlyIfLeft(string what, string? error)
    {
        using var other = what == "file" ? null : SocketFile.Bind(SocketPath + "~");
        if (what == "left")
            other!.Dispose();
        else if (what == "in use")
            other!.Listen();
        else
            File.WriteAllText(SocketPath + "~", "precious");

        if (error is not null)
        {
            AssertFails(error);
            Assert.True(File.Exists(SocketPath + "~"));
            return;
        }

        using var socket = Listen().Socket;
        AssertAccepts(SocketPath);
        Assert.False(File.Exists(SocketPath + "~"));
    }

    [Theory]
    [InlineData(106, true)]
    [InlineData(107, false)]
    public void Listen_LongPath_LeavesRoomForTheTemporaryName(int length, bool isShortEnough)
    {
        var path = Path.Combine(_folder.FullName, new string('a', length - _folder.FullName.Length - 1));
        if (isShortEnough)
        {
            using var socket = Listen(path).Socket;
            AssertAccepts(path);
            return;
        }

        Assert.Contains("is too long", Assert.Throws<FormatException>(() => Listen(path)).Message);
        Assert.Empty(_folder.EnumerateFileSystemInfos());
    }

    /// <summary>Anyone who can read the folder can lock it indefinitely.</summary>
    [Fact]
    public async Task Listen_FolderIsLockedForever_ContinuesAfterAWhileAndWarns()
    {
        using var folder = Libc.Open(_folder.FullName);
        Assert.True(SocketFile.TryLock(folder));

        var listening = await Task.Run(() => Listen()).WaitAsync(TimeSpan.FromSeconds(30));
        using var socket = listening.Socket;
        AssertAccepts(SocketPath);

        var entry = Assert.Single(_logs.All);
        Assert.Equal((LogLevel.Warning, "FolderLocked"), (entry.Level, entry.EventName));
        Assert.Contains(_folder.FullName, entry.Message);
    }

    [Fact]
    public async Task Listen_FolderIsLockedForAWhile_WaitsForIt()
    {
        var folder = Libc.Open(_folder.FullName);
        Assert.True(SocketFile.TryLock(folder));
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
        using var socket = Listen(name).Socket;

        AssertAccepts(name);
        AssertFails("the address is already in use", name);
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

    public void Dispose()
    {
        if (_folder.Exists)
            _folder.Delete(recursive: true);
    }

    private ListeningSocket Listen(string path, Action<FastCgiListenOptions>? configure = null)
    {
        var options = new FastCgiServerOptions();
        options.ListenUnixSocket(path, configure);
        return SocketBinder.Listen(options.ListenOptions.Single(), new InheritedSockets([]), _logs.CreateLogger(""));
    }

    private ListeningSocket Listen(Action<FastCgiListenOptions>? configure = null) => Listen(SocketPath, configure);

    /// <summary>The socket of a killed process: its file exists, and no process listens.</summary>
    private void LeaveBehind() => Listen().Socket.Dispose();

    private void AssertFails(string text, string? path = null, Action<FastCgiListenOptions>? configure = null)
    {
        var error = Assert.Throws<IOException>(() => Listen(path ?? SocketPath, configure));

        Assert.StartsWith($"Failed to listen on fastcgi://unix:{path ?? SocketPath}: ", error.Message);
        Assert.Contains(text, error.Message);
        Assert.DoesNotContain('\n', error.Message);
    }

    private static void AssertAccepts(string path)
    {
        using var client = Connect(path);
        Assert.True(client.Connected);
    }

    private static Socket Connect(string path) => TestSockets.Connect(EndpointAddress.ToUnixEndPoint(path));

    private static string Run(string program, params string[] arguments)
    {
        using var process = Process.Start(new ProcessStartInfo(program, arguments) { RedirectStandardOutput = true })!;
        return process.StandardOutput.ReadToEnd().Trim();
    }
}
