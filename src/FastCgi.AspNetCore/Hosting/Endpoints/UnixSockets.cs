namespace FastCgi.AspNetCore.Hosting.Endpoints;

/// <summary>Creates Unix sockets, secured before clients can connect. Replaces only an abandoned socket.</summary>
internal static class UnixSockets
{
    private const UnixFileMode UserAndGroup =
        UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.GroupRead | UnixFileMode.GroupWrite;

    private const string InUse =
        "the address is already in use. Stop the process that uses it (run ss -lxp), or choose another path";

    // Another instance holds the lock for a few system calls; a longer lock is not from an instance.
    private static readonly TimeSpan s_lockTimeout = TimeSpan.FromSeconds(3);

    private static string User => $"the user {SystemAccounts.ProcessUser}";

    public static ListeningSocket Listen(FastCgiListenOptions options, UnixDomainSocketEndPoint endPoint, ILogger log)
    {
        var path = endPoint.ToString();
        try
        {
            // In an endpoint created by the application, @ may be the start of a file name.
            if (path[0] == '@' && endPoint.Equals(EndpointAddress.ToUnixEndPoint(path)))
                return options.ChangesSocketFile
                    ? throw SocketBinder.Failure(options, "Mode, Owner, Group and CreateDirectory do not apply to an "
                        + "abstract socket, which has no file. Remove them, or use a path")
                    : BindAndListen(options, endPoint);
            // The current folder may change before the file is removed, and web servers require an absolute path.
            if (!Path.IsPathFullyQualified(path))
                throw SocketBinder.Failure(options, "the path of a Unix socket must be absolute, or @ and a name. "
                    + "Choose a path such as /run/app/app.sock");

            return OperatingSystem.IsLinux()
                ? ListenFile(options, endPoint, path, log)
                : ListenElsewhere(options, endPoint, path);
        }
        catch (Exception exception) when (exception is SocketException or UnauthorizedAccessException)
        {
            var isInUse = exception is SocketException { SocketErrorCode: SocketError.AddressAlreadyInUse };
            throw SocketBinder.Failure(options, isInUse ? InUse : exception.Message, exception);
        }
    }

    [SupportedOSPlatform("linux")]
    private static ListeningSocket ListenFile(
        FastCgiListenOptions options, UnixDomainSocketEndPoint endPoint, string path, ILogger log)
    {
        uint? user = options.Owner is { Length: > 0 } owner ? FindUser(options, owner) : null;
        uint? group = options.Group is { Length: > 0 } name ? FindGroup(options, name) : null;
        CreateDirectory(options, path);

        // If two instances start simultaneously, the second must detect that the first uses the socket.
        using var folder = LockFolder(path, log);
        _ = IsLeftBehind(options, endPoint);
        // The file gets its name when it is complete, so a web server finds either the previous socket or this one.
        var temporary = path + "~";
        if (IsLeftBehind(options, EndpointAddress.ToUnixEndPoint(temporary)))
            TryDelete(temporary);
        Socket? socket = null;
        Run(options, $"{User} cannot create a socket in {Path.GetDirectoryName(path)}",
            () => socket = SocketFile.Bind(temporary),
            $"Make the folder writable for the user or for its group ({SystemAccounts.MembershipAdvice}), or choose "
                + "another");
        try
        {
            if (user is not null || group is not null)
                Run(options, $"{User} cannot change the owner of the socket to '{options.Owner}:{options.Group}'",
                    () => SocketFile.ChangeOwner(temporary, user, group),
                    "Only root can set Owner; members of a group can set Group "
                        + $"({SystemAccounts.MembershipAdvice})");
            if (options.Mode is not null || user is not null || group is not null)
                SocketFile.ChangeMode(temporary, options.Mode ?? UserAndGroup);
            socket!.Listen(options.Backlog);
            Run(options, $"{User} cannot replace the file there", () => File.Move(temporary, path, overwrite: true),
                "Remove it, or choose another path");
            return new ListeningSocket(socket) { EndPoint = endPoint };
        }
        catch
        {
            socket?.Dispose();
            TryDelete(temporary);
            throw;
        }
    }

    /// <summary>Listens on other systems, where .NET binds and removes the file.</summary>
    internal static ListeningSocket ListenElsewhere(
        FastCgiListenOptions options, UnixDomainSocketEndPoint endPoint, string path)
    {
        if (options.Owner is not null || options.Group is not null)
            throw SocketBinder.Failure(options, "Owner and Group require Linux");

        CreateDirectory(options, path);
        if (IsLeftBehind(options, endPoint))
            File.Delete(path);
        return BindAndListen(options, endPoint);
    }

    private static ListeningSocket BindAndListen(FastCgiListenOptions options, UnixDomainSocketEndPoint endPoint)
    {
        var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        try
        {
            socket.Bind(endPoint);
            if (options.Mode is { } mode && !OperatingSystem.IsWindows())
                File.SetUnixFileMode(endPoint.ToString(), mode);
            socket.Listen(options.Backlog);
            return new ListeningSocket(socket) { EndPoint = endPoint };
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }

    public static uint FindUser(FastCgiListenOptions options, string name)
        => SystemAccounts.FindUser(name) ?? throw SocketBinder.Failure(options, $"the user '{name}' does not exist. "
            + "Create it, or choose one from getent passwd");

    public static uint FindGroup(FastCgiListenOptions options, string name)
        => SystemAccounts.FindGroup(name) ?? throw SocketBinder.Failure(options, $"the group '{name}' does not exist. "
            + "Create it, or choose one from getent group");

    private static void CreateDirectory(FastCgiListenOptions options, string path)
    {
        var folder = Path.GetDirectoryName(Path.GetFullPath(path))!;
        if (Directory.Exists(folder))
            return;
        if (!options.CreateDirectory)
            throw SocketBinder.Failure(options, $"the folder of the socket does not exist, or the user "
                + $"{SystemAccounts.ProcessUser} cannot access it. Create it, set CreateDirectory, or use "
                + "RuntimeDirectory= in the systemd unit");

        Run(options, $"the folder {folder} cannot be created", () => Directory.CreateDirectory(folder),
            "Create it, or choose another path");
    }

    /// <summary>Whether there is an abandoned socket, which refuses connections. Fails for other files.</summary>
    private static bool IsLeftBehind(FastCgiListenOptions options, UnixDomainSocketEndPoint endPoint)
    {
        var path = endPoint.ToString();
        if (OperatingSystem.IsLinux() ? SocketFile.IsSocket(path) is false : Directory.Exists(path))
            throw SocketBinder.Failure(options, $"{path} exists and is not a socket. Remove it, or choose another "
                + "path");
        if (!File.Exists(path))
            return false;

        using var probe =
            new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified) { Blocking = false };
        try
        {
            probe.Connect(endPoint);
        }
        catch (SocketException exception) when (exception.SocketErrorCode == SocketError.ConnectionRefused)
        {
            return true;
        }
        catch (SocketException exception) when (exception.SocketErrorCode == SocketError.AccessDenied)
        {
            throw SocketBinder.Failure(options, "a socket exists there, and this process may not connect to it to "
                + "check whether it is in use. Remove it, or choose another path", exception);
        }
        catch (SocketException)
        {
            // The socket is in use with a full backlog, or has another type.
        }

        throw SocketBinder.Failure(options, InUse);
    }

    /// <summary>Removes the file. Ignores failures: the step that failed reports the cause.</summary>
    private static void TryDelete(string path)
    {
        try
        {
            File.Delete(path);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            // The next start removes it.
        }
    }

    private static void Run(FastCgiListenOptions options, string failure, Action step, string advice)
    {
        try
        {
            step();
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            throw SocketBinder.Failure(options, $"{failure}: {exception.Message.TrimEnd('.')}. {advice}",
                exception);
        }
    }

    [SupportedOSPlatform("linux")]
    private static SafeFileHandle LockFolder(string path, ILogger log)
    {
        var folder = Path.GetDirectoryName(Path.GetFullPath(path)) ?? "/";
        var handle = Libc.Open(folder);
        if (!SpinWait.SpinUntil(() => SocketFile.TryLock(handle), s_lockTimeout))
            log.FolderLocked(folder, s_lockTimeout.TotalSeconds);
        return handle;
    }
}
