namespace FastCgi.AspNetCore.Hosting.Endpoints;

/// <summary>Listening sockets from the parent process. They stay open for servers that start later.</summary>
/// <param name="refusal">The reason why this process ignores passed sockets; null if it does not.</param>
internal sealed class InheritedSockets(IReadOnlyList<InheritedSocket> sockets, string? refusal = null)
{
    private const string ProcessVariable = "LISTEN_PID";
    private const string CountVariable = "LISTEN_FDS";
    private const string NamesVariable = "LISTEN_FDNAMES";

    /// <summary>The inode of the process's descriptor, beside its id: since systemd 259.</summary>
    private const string ProcessInodeVariable = "LISTEN_PIDFDID";

    // SD_LISTEN_FDS_START, and the default name.
    private const int FirstDescriptor = 3;
    private const string NoName = "unknown";

    private static readonly Lazy<InheritedSockets> s_ofThisProcess = new(Claim);

    /// <summary>The sockets of this process. The first access hides them from child processes.</summary>
    public static InheritedSockets OfThisProcess => s_ofThisProcess.Value;
    public string? Refusal => refusal;

    public IEnumerable<FastCgiListenOptions> Endpoints => sockets.Select(
        static socket => new FastCgiListenOptions(ToEndPoint(socket)) { Origin = "the parent process" });

    public static bool IsNamedBy(FastCgiListenOptions options)
        => options.EndPoint is InheritedSocketEndPoint or FileHandleEndPoint;

    public IEnumerable<FastCgiListenOptions> Resolve(FastCgiListenOptions options)
    {
        if (options.EndPoint is not InheritedSocketEndPoint { Name: var name })
            return [options];

        var named = sockets.Where(socket => socket.Name == name).Select(socket => options.At(ToEndPoint(socket)))
            .ToList();
        return named.Count > 0
            ? named
            : throw new IOException($"Failed to listen on {options}: {ExplainMissing(name)}.");
    }

    public ListeningSocket Open(FileHandleEndPoint endPoint)
    {
        if (!OperatingSystem.IsLinux())
            throw Failure(endPoint, "this system passes no sockets. Use an address");

        var descriptor = sockets.FirstOrDefault(
            socket => (ulong)socket.Number == endPoint.FileHandle)?.Descriptor ?? (int)endPoint.FileHandle;
        if (!Descriptors.IsOpen(descriptor))
            throw Failure(endPoint, "the descriptor is not open. The parent process must pass a listening socket, as "
                + "spawn-fcgi does at descriptor 0 and systemd from 3 on");
        if (!Descriptors.IsListening(descriptor))
            throw Failure(endPoint, "the descriptor is not a listening socket. The parent process must call listen() "
                + "on it, as spawn-fcgi and systemd (Accept=no) do");

        Descriptors.SetCloseOnExec(descriptor);
        var socket = new Socket(new SafeSocketHandle(descriptor, ownsHandle: false));
        if (socket.SocketType == SocketType.Stream)
        {
            return new ListeningSocket(socket)
            {
                EndPoint = socket.LocalEndPoint ?? endPoint,
                IsShared = true,
                // A web server creates a new socket at descriptor 0 for the next process.
                IsPassedOn = endPoint.FileHandle != 0,
            };
        }

        socket.Dispose();
        throw Failure(endPoint, "the socket is not a stream socket. Use ListenStream= in the systemd unit");
    }

    /// <summary>Finds the sockets, once. For tests; otherwise, use <see cref="OfThisProcess"/>.</summary>
    internal static InheritedSockets Claim()
    {
        if (!OperatingSystem.IsLinux())
            return new InheritedSockets([]);

        var process = Take(ProcessVariable);
        var count = Take(CountVariable);
        var names = Take(NamesVariable);
        Take(ProcessInodeVariable);
        var isOurs = IsFor(process, Environment.ProcessId);
        var passed = isOurs ? ReadPassed(process, count, names) : [];
        Descriptors.SecureStandardStreams();
        var found = new List<InheritedSocket>();
        if (Descriptors.IsListening(0))
            found.Add(new InheritedSocket(0, Descriptors.MoveFromStandardStream(0), Name: null));
        foreach (var (descriptor, name) in passed)
        {
            Descriptors.SetCloseOnExec(descriptor);
            found.Add(new InheritedSocket(descriptor, descriptor, name));
        }

        var isRefused = !isOurs && !string.IsNullOrEmpty(process) && !string.IsNullOrEmpty(count);
        return new InheritedSockets(found, isRefused
            ? $"{ProcessVariable} is {process} but this is process {Environment.ProcessId}. A "
                + "script must start the application with exec"
            : null);
    }

    /// <summary>Reads the variables with which systemd passes sockets (sd_listen_fds(3)).</summary>
    internal static IReadOnlyList<(int Descriptor, string Name)> ReadPassed(
        string? process, string? count, string? names)
    {
        if (string.IsNullOrEmpty(process) || string.IsNullOrEmpty(count))
            return [];

        if (!int.TryParse(count, NumberStyles.None, CultureInfo.InvariantCulture, out var number)
            || number > int.MaxValue - FirstDescriptor)
            throw new IOException($"{CountVariable} is '{count}', which is not a number of sockets. Correct the "
                + "parent process, which sets it.");

        var given = string.IsNullOrEmpty(names) ? null : names.Split(':');
        if (given is not null && given.Length != number)
            throw new IOException($"{NamesVariable} is '{names}', which does not contain one name for each socket in "
                + $"{CountVariable} ({number}). Correct the parent process, which sets it.");

        return [.. Enumerable.Range(0, number).Select(i => (FirstDescriptor + i, given?[i] ?? NoName))];
    }

    /// <summary>Whether systemd means the process with this id.</summary>
    public static bool IsFor(string? process, int id) => process == id.ToString(CultureInfo.InvariantCulture);

    private static string? Take(string variable)
    {
        var value = Environment.GetEnvironmentVariable(variable);
        Environment.SetEnvironmentVariable(variable, null);
        return value;
    }

    private static FileHandleEndPoint ToEndPoint(InheritedSocket socket)
        => new((ulong)socket.Number, FileHandleType.Auto);

    private static IOException Failure(FileHandleEndPoint endPoint, string why)
        => new($"Failed to listen on {EndpointAddress.Format(endPoint)}: {why}.");

    private string ExplainMissing(string name)
    {
        var names = string.Join(", ", sockets.Select(static socket => socket.Name).OfType<string>().Distinct());
        return refusal is not null
            ? $"the passed sockets are not for this process: {refusal}"
            : $"no socket named '{name}' was passed to this process. " + (names.Length == 0
                ? "No sockets were passed at all; systemd passes those of a .socket unit"
                : $"The passed names are {names}; set FileDescriptorName= in the .socket unit");
    }
}

internal sealed class InheritedSocketEndPoint(string name) : EndPoint
{
    public string Name => name;

    public override string ToString() => name;
}

/// <summary>A listening socket from the parent process.</summary>
/// <param name="Number">Its original descriptor, as in <c>fastcgi://fd:N</c>.</param>
internal sealed record InheritedSocket(int Number, int Descriptor, string? Name);
