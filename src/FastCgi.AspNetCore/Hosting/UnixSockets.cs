using System.Diagnostics;
using System.Net.Sockets;
using System.Runtime.Versioning;
using FastCgi.AspNetCore.Diagnostics;
using FastCgi.AspNetCore.Linux;
using FastCgi.AspNetCore.Transport;
using Microsoft.Extensions.Logging;

namespace FastCgi.AspNetCore.Hosting;

/// <summary>
/// Makes unix sockets: with owner, group and mode before anybody can connect, in the place of what a killed process left behind, and
/// never in that of anything else.
/// </summary>
internal static class UnixSockets
{
    private const UnixFileMode UserAndGroup = UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.GroupRead | UnixFileMode.GroupWrite;

    private const string InUse = "the address is already in use. Stop the process that listens there (ss -lxp shows it), or choose another path";

    // Another instance has the lock for a few system calls. Whoever has it longer is not one.
    private static readonly TimeSpan s_patienceAtStart = TimeSpan.FromSeconds(3);
    private static readonly TimeSpan s_patienceAtStop = TimeSpan.FromMilliseconds(500);
    private static readonly TimeSpan s_pollInterval = TimeSpan.FromMilliseconds(10);

    /// <summary>Binds and listens.</summary>
    /// <exception cref="IOException">The socket cannot be made; the message says why.</exception>
    public static ListeningSocket Listen(FastCgiListenOptions options, UnixDomainSocketEndPoint endPoint, ILogger log)
    {
        var path = endPoint.ToString();
        try
        {
            // Of an endpoint that was made by hand, it may be the name of a file.
            if (path[0] == '@' && endPoint.Equals(EndpointAddress.ToUnixEndPoint(path)))
                return ListenAbstract(options, endPoint);
            // The current folder may be another one when the file is removed, and web servers take no such path.
            if (!Path.IsPathFullyQualified(path))
                throw SocketBinder.Failure(options, "the path of a unix socket is absolute, or @ and a name. Choose one such as /run/app/app.sock");

            return OperatingSystem.IsLinux() ? ListenFile(options, endPoint, path, log) : ListenElsewhere(options, endPoint, path);
        }
        catch (Exception exception) when (exception is SocketException or UnauthorizedAccessException)
        {
            throw SocketBinder.Failure(options, exception.Message, exception);
        }
    }

    private static ListeningSocket ListenAbstract(FastCgiListenOptions options, UnixDomainSocketEndPoint endPoint)
    {
        if (options.Mode is not null || options.Owner is not null || options.Group is not null || options.CreateDirectory)
            throw SocketBinder.Failure(options, "an abstract socket has no file, so it cannot have Mode, Owner, Group or CreateDirectory. Choose a path");

        var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        try
        {
            socket.Bind(endPoint);
            socket.Listen(options.Backlog);
            return new ListeningSocket(socket) { EndPoint = endPoint };
        }
        catch (SocketException exception)
        {
            socket.Dispose();
            throw SocketBinder.Failure(
                options, exception.SocketErrorCode == SocketError.AddressAlreadyInUse ? InUse : exception.Message, exception);
        }
    }

    [SupportedOSPlatform("linux")]
    private static ListeningSocket ListenFile(FastCgiListenOptions options, UnixDomainSocketEndPoint endPoint, string path, ILogger log)
    {
        uint? user = string.IsNullOrEmpty(options.Owner) ? null : Find(options, options.Owner, SystemAccounts.FindUser, "user");
        uint? group = string.IsNullOrEmpty(options.Group) ? null : Find(options, options.Group, SystemAccounts.FindGroup, "group");
        CreateDirectory(options, path);

        // Between a look at what is there and the time that it listens, another instance would take it for left behind.
        using var folder = LockFolder(path, log);
        RemoveLeftBehind(options, endPoint, path);
        var socket = Bind(options, path);
        var file = SocketFile.Find(path);
        try
        {
            if (user is not null || group is not null)
                SetOwner(options, path, user, group);
            if (options.Mode is not null || user is not null || group is not null)
                File.SetUnixFileMode(path, options.Mode ?? UserAndGroup);
            socket.Listen(options.Backlog);
        }
        catch
        {
            file?.Remove();
            socket.Dispose();
            throw;
        }

        return new ListeningSocket(socket)
        {
            EndPoint = endPoint,
            RemoveAsync = () => RemoveAsync(file, path, log),
        };
    }

    /// <summary>Where .NET binds, and removes the file.</summary>
    internal static ListeningSocket ListenElsewhere(FastCgiListenOptions options, UnixDomainSocketEndPoint endPoint, string path)
    {
        if (options.Owner is not null || options.Group is not null)
            throw SocketBinder.Failure(options, "Owner and Group need Linux");

        CreateDirectory(options, path);
        RemoveLeftBehind(options, endPoint, path);
        var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        try
        {
            socket.Bind(endPoint);
            if (options.Mode is { } mode && !OperatingSystem.IsWindows())
                File.SetUnixFileMode(path, mode);
            socket.Listen(options.Backlog);
            return new ListeningSocket(socket) { EndPoint = endPoint };
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }

    /// <summary>The number of a user or group.</summary>
    /// <exception cref="IOException">There is none of the name.</exception>
    public static uint Find(FastCgiListenOptions options, string name, Func<string, uint?> find, string kind)
        => find(name) ?? throw SocketBinder.Failure(options, $"there is no {kind} '{name}'. Create it, or choose one of those that 'getent {(kind == "user" ? "passwd" : "group")}' shows");

    private static void CreateDirectory(FastCgiListenOptions options, string path)
    {
        var folder = Path.GetDirectoryName(Path.GetFullPath(path))!;
        if (Directory.Exists(folder))
            return;
        if (!options.CreateDirectory)
            throw SocketBinder.Failure(options, $"the folder of the socket does not exist, or the user {Environment.UserName} may not see it. Make it, set CreateDirectory, or let systemd make it with RuntimeDirectory=");

        try
        {
            Directory.CreateDirectory(folder);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            throw SocketBinder.Failure(options, $"the folder {folder} cannot be created: {exception.Message.TrimEnd('.')}", exception);
        }
    }

    /// <summary>Removes the socket of a process that is gone: nobody accepts connections on it.</summary>
    private static void RemoveLeftBehind(FastCgiListenOptions options, UnixDomainSocketEndPoint endPoint, string path)
    {
        if (OperatingSystem.IsLinux() ? SocketFile.Find(path) is { IsSocket: false } : Directory.Exists(path))
            throw SocketBinder.Failure(options, "there is something else at the path, and no socket. Move it away, or choose another path");
        if (!File.Exists(path))
            return;

        using var probe = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified) { Blocking = false };
        try
        {
            probe.Connect(endPoint);
        }
        catch (SocketException exception) when (exception.SocketErrorCode == SocketError.ConnectionRefused)
        {
            File.Delete(path);
            return;
        }
        catch (SocketException exception) when (exception.SocketErrorCode == SocketError.AccessDenied)
        {
            throw SocketBinder.Failure(options, "there is a socket that this process may not connect to, so it cannot tell whether it is in use. Remove it, or choose another path", exception);
        }
        catch (SocketException)
        {
            // It is in use, and its backlog is full, or it is of another kind.
        }

        throw SocketBinder.Failure(options, InUse);
    }

    [SupportedOSPlatform("linux")]
    private static Socket Bind(FastCgiListenOptions options, string path)
    {
        try
        {
            return SocketFile.Bind(path);
        }
        catch (IOException exception)
        {
            throw SocketBinder.Failure(
                options,
                $"the user {Environment.UserName} cannot make a socket in {Path.GetDirectoryName(Path.GetFullPath(path))}: {exception.Message}. Give the folder to that user, or choose another",
                exception);
        }
    }

    [SupportedOSPlatform("linux")]
    private static void SetOwner(FastCgiListenOptions options, string path, uint? user, uint? group)
    {
        try
        {
            SocketFile.ChangeOwner(path, user, group);
        }
        catch (IOException exception)
        {
            var receivers = string.Join(" and ", new[] { user is null ? null : $"the user '{options.Owner}'", group is null ? null : $"the group '{options.Group}'" }.OfType<string>());
            throw SocketBinder.Failure(
                options,
                $"the user {Environment.UserName} cannot give the socket to {receivers}: {exception.Message}. Only root can choose Owner; Group can be chosen by its members (SupplementaryGroups= of systemd)",
                exception);
        }
    }

    [SupportedOSPlatform("linux")]
    private static FolderLock LockFolder(string path, ILogger log)
    {
        var folder = new FolderLock(path);
        var start = Stopwatch.GetTimestamp();
        while (!folder.TryAcquire() && !IsOver(folder, start, s_patienceAtStart, log))
            Thread.Sleep(s_pollInterval);
        return folder;
    }

    [SupportedOSPlatform("linux")]
    private static async ValueTask RemoveAsync(SocketFile? file, string path, ILogger log)
    {
        using var folder = new FolderLock(path);
        var start = Stopwatch.GetTimestamp();
        while (!folder.TryAcquire() && !IsOver(folder, start, s_patienceAtStop, log))
            await Task.Delay(s_pollInterval).ConfigureAwait(false);
        file?.Remove();
    }

    /// <summary>Whether the lock was waited for long enough, which is told.</summary>
    [SupportedOSPlatform("linux")]
    private static bool IsOver(FolderLock folder, long start, TimeSpan patience, ILogger log)
    {
        if (Stopwatch.GetElapsedTime(start) < patience)
            return false;

        log.FolderLocked(folder.Folder, patience.TotalSeconds);
        return true;
    }
}
