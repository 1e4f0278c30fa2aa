using System.Globalization;
using System.Net.Sockets;
using FastCgi.AspNetCore.Linux;
using FastCgi.AspNetCore.Transport;
using Microsoft.AspNetCore.Connections;

namespace FastCgi.AspNetCore.Hosting;

/// <summary>
/// The listening sockets that this process was given by whoever started it: at descriptor 0 by a web server or spawn-fcgi, from
/// descriptor 3 on by systemd. They stay open to the end of the process, so that a server can stop and another one start.
/// </summary>
internal sealed class InheritedSockets
{
    private static readonly Lazy<InheritedSockets> s_ofThisProcess = new(Claim);

    private readonly IReadOnlyList<InheritedSocket> _sockets;

    /// <param name="sockets">The sockets.</param>
    /// <param name="refusal">Why sockets that were passed are not for this process; <see langword="null"/> if there is no doubt.</param>
    public InheritedSockets(IReadOnlyList<InheritedSocket> sockets, string? refusal = null)
    {
        _sockets = sockets;
        Refusal = refusal;
    }

    /// <summary>Those of this process. The first use looks for them, and keeps them from the programs that this process starts.</summary>
    /// <exception cref="IOException">What was passed cannot be understood.</exception>
    public static InheritedSockets OfThisProcess => s_ofThisProcess.Value;

    /// <summary>Why sockets that were passed are not for this process; <see langword="null"/> if there is no doubt.</summary>
    public string? Refusal { get; }

    /// <summary>What to listen on if no endpoint says which of them.</summary>
    public IEnumerable<FastCgiListenOptions> Endpoints => _sockets.Select(static socket => new FastCgiListenOptions(ToEndPoint(socket)) { Origin = "what started the process" });

    /// <summary>Whether an endpoint names an inherited socket.</summary>
    public static bool IsNamedBy(FastCgiListenOptions options) => options.EndPoint is InheritedSocketEndPoint or FileHandleEndPoint;

    /// <summary>Replaces an endpoint that is a name by those of all sockets that have it.</summary>
    /// <exception cref="IOException">There is none.</exception>
    public IEnumerable<FastCgiListenOptions> Resolve(FastCgiListenOptions options)
    {
        if (options.EndPoint is not InheritedSocketEndPoint { Name: var name })
            return [options];

        var named = _sockets.Where(socket => socket.Name == name).Select(socket => options.At(ToEndPoint(socket))).ToList();
        return named.Count > 0 ? named : throw new IOException($"Failed to listen on {options}: {ExplainMissing(name)}.");
    }

    /// <summary>The socket at a descriptor.</summary>
    /// <exception cref="IOException">There is none that can be listened on.</exception>
    public ListeningSocket Open(FileHandleEndPoint endPoint)
    {
        var descriptor = _sockets.FirstOrDefault(socket => (ulong)socket.Number == endPoint.FileHandle)?.Descriptor ?? (int)endPoint.FileHandle;
        if (!Descriptors.IsOpen(descriptor))
            throw Failure(endPoint, "the descriptor is not open. The program that starts this one must leave a listening socket there, as spawn-fcgi does at 0 and systemd from 3 on");
        if (!Descriptors.IsListening(descriptor))
            throw Failure(endPoint, "the descriptor is not a listening socket. The program that starts this one must call listen() on it, as spawn-fcgi and systemd (Accept=no) do");

        Descriptors.SetCloseOnExec(descriptor);
        var socket = new Socket(new SafeSocketHandle(descriptor, ownsHandle: false));
        if (socket.SocketType == SocketType.Stream)
        {
            return new ListeningSocket(socket)
            {
                EndPoint = socket.LocalEndPoint ?? endPoint,
                IsShared = true,
                // Of descriptor 0, a web server makes a new one for the next process.
                IsPassedOn = endPoint.FileHandle != 0,
            };
        }

        socket.Dispose();
        throw Failure(endPoint, "the socket is not a stream socket (ListenStream= of systemd)");
    }

    /// <summary>Looks for them; a second time, there are none. For tests: <see cref="OfThisProcess"/> keeps them.</summary>
    internal static InheritedSockets Claim()
    {
        if (OperatingSystem.IsWindows())
            return new InheritedSockets([]);

        var process = Environment.GetEnvironmentVariable(SocketActivation.ProcessVariable);
        var count = Environment.GetEnvironmentVariable(SocketActivation.CountVariable);
        var names = Environment.GetEnvironmentVariable(SocketActivation.NamesVariable);
        var isOurs = SocketActivation.IsFor(process, Environment.ProcessId);
        var passed = isOurs ? SocketActivation.Read(process, count, names) : [];

        // They are not for the programs that this process starts.
        Environment.SetEnvironmentVariable(SocketActivation.ProcessVariable, null);
        Environment.SetEnvironmentVariable(SocketActivation.CountVariable, null);
        Environment.SetEnvironmentVariable(SocketActivation.NamesVariable, null);

        StandardStreams.Secure();
        var sockets = new List<InheritedSocket>();
        if (Descriptors.IsListening(0))
            sockets.Add(new InheritedSocket(0, Descriptors.MoveFromStandardStream(0), Name: null));
        foreach (var (descriptor, name) in passed)
        {
            Descriptors.SetCloseOnExec(descriptor);
            sockets.Add(new InheritedSocket(descriptor, descriptor, name));
        }

        var isRefused = !isOurs && !string.IsNullOrEmpty(process) && !string.IsNullOrEmpty(count);
        return new InheritedSockets(sockets, isRefused
            ? $"{SocketActivation.ProcessVariable} is {process} and this is process {Environment.ProcessId}. A script that starts the application must do so with exec"
            : null);
    }

    private static FileHandleEndPoint ToEndPoint(InheritedSocket socket) => new((ulong)socket.Number, FileHandleType.Auto);

    private static IOException Failure(FileHandleEndPoint endPoint, string why)
        => new(string.Create(CultureInfo.InvariantCulture, $"Failed to listen on {EndpointAddress.Format(endPoint)}: {why}."));

    private string ExplainMissing(string name)
    {
        var names = string.Join(", ", _sockets.Select(static socket => socket.Name).OfType<string>().Distinct());
        return Refusal is not null
            ? $"the sockets that were passed are not for this process: {Refusal}"
            : $"no socket of the name '{name}' was passed to this process. " + (names.Length == 0
                ? "None was; systemd passes those of the .socket unit"
                : $"There is {names}; the name is FileDescriptorName= of the .socket unit");
    }
}
