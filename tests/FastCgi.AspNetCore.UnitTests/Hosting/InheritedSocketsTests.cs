namespace FastCgi.AspNetCore.UnitTests.Hosting;

/// <summary>
/// Sockets that a process is given, with descriptors of this one. Some tests set its environment and its standard
/// input.
/// </summary>
[Collection(DescriptorTable.Name)]
public sealed partial class InheritedSocketsTests : IDisposable
{
    private readonly Socket _listener = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);

    public InheritedSocketsTests() => _listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));

    private int Descriptor => (int)_listener.Handle;

    public void Dispose()
    {
        _listener.Dispose();
        SetVariables(null, null, null);
    }

    [Fact]
    public void Open_ListeningSocket_IsSharedAndNotInherited()
    {
        _listener.Listen();
        DescriptorTable.SetFlags(Descriptor, 0);

        var socket = new InheritedSockets([]).Open(At(Descriptor));

        Assert.Equal(_listener.LocalEndPoint, socket.EndPoint);
        Assert.True(socket is { IsShared: true, IsPassedOn: true });
        Assert.Equal(DescriptorTable.CloseOnExec, DescriptorTable.GetFlags(Descriptor));
        // Disposal leaves the descriptor open, because another server in the process may use it.
        socket.Socket.Dispose();
        Assert.True(Descriptors.IsListening(Descriptor));
    }

    [Fact]
    public void Open_MovedSocket_IsFoundByItsOriginalNumber()
    {
        _listener.Listen();
        var inherited = new InheritedSockets(
            [new InheritedSocket(5, Descriptor + 1_000, "other"), new InheritedSocket(0, Descriptor, null)]);

        var socket = inherited.Open(At(0));

        Assert.Equal(_listener.LocalEndPoint, socket.EndPoint);
        // A web server creates a new descriptor 0 for the next process.
        Assert.False(socket.IsPassedOn);
        GC.KeepAlive(socket);
    }

    [Fact]
    public void Open_NoListeningSocket_ErrorNamesItAndTheUnit()
    {
        AssertFails(4_321, "the descriptor is not open. The parent process must pass a listening socket, as "
            + "spawn-fcgi does at descriptor 0 and systemd from 3 on.");
        AssertFails(Descriptor, "the descriptor is not a listening socket. The parent process must call listen() on "
            + "it, as spawn-fcgi and systemd (Accept=no) do.");
        using var file = File.OpenHandle("/dev/null");
        AssertFails((int)file.DangerousGetHandle(), "the descriptor is not a listening socket. The parent process "
            + "must call listen() on it, as spawn-fcgi and systemd (Accept=no) do.");

        using var packets = new Socket(AddressFamily.Unix, SocketType.Seqpacket, ProtocolType.Unspecified);
        packets.Bind(EndpointAddress.ToUnixEndPoint("@fastcgi-" + Guid.NewGuid()));
        packets.Listen();
        AssertFails((int)packets.Handle, "the socket is not a stream socket. Use ListenStream= in the systemd unit.");
        Assert.True(Descriptors.IsListening((int)packets.Handle));

        static void AssertFails(int descriptor, string why)
            => Assert.Equal(
                $"Failed to listen on fastcgi://fd:{descriptor}: {why}",
                Assert.Throws<IOException>(() => new InheritedSockets([]).Open(At(descriptor))).Message);
    }

    [Fact]
    public void Resolve_Name_ReturnsAllItsSockets()
    {
        var inherited = new InheritedSockets([
            new InheritedSocket(3, 3, "web"), new InheritedSocket(4, 4, "admin"), new InheritedSocket(5, 5, "web"),
            new InheritedSocket(0, 9, null)]);

        Assert.Equal([3, 5], inherited.Resolve(Named("web")).Select(GetNumber));
        Assert.Equal([3, 4, 5, 0], inherited.Endpoints.Select(GetNumber));
        Assert.All(inherited.Endpoints, static endpoint => Assert.Equal("the parent process", endpoint.Origin));
        var other = new FastCgiListenOptions(new IPEndPoint(IPAddress.Loopback, 1));
        Assert.Same(other, Assert.Single(inherited.Resolve(other)));
        Assert.True(InheritedSockets.IsNamedBy(Named("web")) && InheritedSockets.IsNamedBy(
            new FastCgiListenOptions(At(3))) && !InheritedSockets.IsNamedBy(other));
        Assert.Empty(new InheritedSockets([]).Endpoints);
    }

    [Fact]
    public void Resolve_UnknownName_ListsKnownNames()
    {
        AssertFails(new InheritedSockets([]), "no socket named 'web' was passed to this process. No sockets were "
            + "passed at all; systemd passes those of a .socket unit.");
        AssertFails(new InheritedSockets([new InheritedSocket(0, 0, null)]), "no socket named 'web' was passed to "
            + "this process. No sockets were passed at all; systemd passes those of a .socket unit.");
        AssertFails(
            new InheritedSockets(
                [new InheritedSocket(3, 3, "a"), new InheritedSocket(4, 4, "b"), new InheritedSocket(5, 5, "a")]),
            "no socket named 'web' was passed to this process. The passed names are a, b; set FileDescriptorName= in "
                + "the .socket unit.");
        AssertFails(new InheritedSockets([], "reasons"), "the passed sockets are not for this process: reasons.");

        static void AssertFails(InheritedSockets inherited, string why)
            => Assert.Equal(
                $"Failed to listen on fastcgi://fd:web: {why}",
                Assert.Throws<IOException>(() => inherited.Resolve(Named("web")).ToList()).Message);
    }

    [Fact]
    public void Claim_SocketsForThisProcess_AreNotInherited()
    {
        DescriptorTable.SetFlags(3, 0);
        SetVariables(Environment.ProcessId.ToString(CultureInfo.InvariantCulture), "1", "web");

        var inherited = InheritedSockets.Claim();

        Assert.Null(inherited.Refusal);
        Assert.Equal([3], inherited.Resolve(Named("web")).Select(GetNumber));
        Assert.Equal(DescriptorTable.CloseOnExec, DescriptorTable.GetFlags(3));
        Assert.Empty(GetVariables());
        Assert.Empty(InheritedSockets.Claim().Endpoints);
    }

    [Theory]
    [InlineData("1", "2", true)]
    [InlineData("1", null, false)]
    [InlineData(null, "2", false)]
    public void Claim_SocketsForAnotherProcess_AreRefusedWithTheReason(string? process, string? count, bool isRefused)
    {
        SetVariables(process, count, "web:admin");

        var inherited = InheritedSockets.Claim();

        Assert.Empty(inherited.Endpoints);
        Assert.Equal(isRefused ? $"LISTEN_PID is 1 but this is process {Environment.ProcessId}. A script must start "
            + "the application with exec" : null, inherited.Refusal);
        Assert.Empty(GetVariables());
    }

    [Fact]
    public void Claim_SocketAtTheStandardInput_IsMovedAndTheNullDeviceTakesItsPlace()
    {
        _listener.Listen();
        using var input = new DescriptorTable.Replaced(0, Descriptor);

        var inherited = InheritedSockets.Claim();

        Assert.Equal([0], inherited.Endpoints.Select(GetNumber));
        Assert.Equal("/dev/null", new FileInfo("/proc/self/fd/0").LinkTarget);
        var socket = inherited.Open(At(0));
        Assert.Equal(_listener.LocalEndPoint, socket.EndPoint);
        Assert.InRange((int)socket.Socket.Handle, 3, int.MaxValue);
        DescriptorTable.Close((int)socket.Socket.Handle);
    }

    private static FileHandleEndPoint At(int descriptor) => new((ulong)descriptor, FileHandleType.Auto);

    private static FastCgiListenOptions Named(string name) => new(new InheritedSocketEndPoint(name));

    private static int GetNumber(FastCgiListenOptions options)
        => (int)((FileHandleEndPoint)options.EndPoint).FileHandle;

    private static void SetVariables(string? process, string? count, string? names)
    {
        Environment.SetEnvironmentVariable("LISTEN_PID", process);
        Environment.SetEnvironmentVariable("LISTEN_FDS", count);
        Environment.SetEnvironmentVariable("LISTEN_FDNAMES", names);
        Environment.SetEnvironmentVariable("LISTEN_PIDFDID", process is null ? null : "1234");
    }

    private static IEnumerable<string> GetVariables()
        => Environment.GetEnvironmentVariables().Keys.Cast<string>()
            .Where(static name => name.StartsWith("LISTEN_", StringComparison.Ordinal));
}
