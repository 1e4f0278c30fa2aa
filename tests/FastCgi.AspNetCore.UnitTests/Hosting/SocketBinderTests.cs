namespace FastCgi.AspNetCore.UnitTests.Hosting;

/// <summary>TCP sockets: where they listen, and why they cannot.</summary>
public sealed class SocketBinderTests
{
    [Theory]
    [InlineData("127.0.0.1", "127.0.0.1", false)]
    [InlineData("::ffff:127.0.0.1", "127.0.0.1", false)]
    [InlineData("::1", "::1", false)]
    [InlineData("::", "::", true)]
    public void Listen_Address_EqualsTheSockets(string address, string bound, bool isDual)
    {
        using var socket = Listen(address, 0).Socket;

        Assert.Equal(IPAddress.Parse(bound), ((IPEndPoint)socket.LocalEndPoint!).Address);
        Assert.Equal(isDual, socket.AddressFamily == AddressFamily.InterNetworkV6 && socket.DualMode);
        Connect(socket, isDual ? "127.0.0.1" : bound);
        if (isDual)
            Connect(socket, "::1");
    }

    [Fact]
    public void Listen_AddressInUse_ErrorExplainsHowToFindTheOwner()
    {
        using var other = Listen("127.0.0.1", 0).Socket;
        var port = ((IPEndPoint)other.LocalEndPoint!).Port;

        var error = Assert.Throws<IOException>(() => Listen("127.0.0.1", port));

        Assert.Equal($"Failed to listen on fastcgi://127.0.0.1:{port}: the address is already in use. Stop the "
            + "process that uses it (run ss -ltnp), or choose another port.", error.Message);
        Assert.IsType<SocketException>(error.InnerException);
        Assert.Throws<IOException>(() => Listen("::", port));
        // IPv4 alone would be possible.
        using var loopback = Listen("::1", 0).Socket;
        Assert.Throws<IOException>(() => Listen("::", ((IPEndPoint)loopback.LocalEndPoint!).Port));
    }

    [Fact]
    public void Listen_AddressOfAnotherMachine_ErrorNamesAllOfThisOne()
        => Assert.Equal(
            "Failed to listen on fastcgi://192.0.2.1:9123: this machine does not have the address. To listen on all "
                + "addresses, use fastcgi://*:9123.",
            Assert.Throws<IOException>(() => Listen("192.0.2.1", 9_123)).Message);

    [Theory, Values("mode", "owner", "group", "folder")]
    public void Listen_SettingOfAFile_Error(string setting)
    {
        var tcp = Assert.Throws<IOException>(() => Listen("127.0.0.1", 0, Configure));
        var options = new FastCgiServerOptions();
        options.ListenUnixSocket("@fastcgi-" + Guid.NewGuid(), Configure);
        var name = Assert.Throws<IOException>(
            () => SocketBinder.Listen(options.ListenOptions.Single(), new InheritedSockets([]), NullLogger.Instance));

        Assert.Equal(
            "Failed to listen on fastcgi://127.0.0.1:0: Mode, Owner, Group and CreateDirectory apply only to the file "
                + "of a Unix socket. Remove them from the endpoint.",
            tcp.Message);
        Assert.Contains("do not apply to an abstract socket", name.Message);

        void Configure(FastCgiListenOptions listen)
        {
            listen.Mode = setting == "mode" ? UnixFileMode.UserWrite : null;
            listen.Owner = setting == "owner" ? "root" : null;
            listen.Group = setting == "group" ? "root" : null;
            listen.CreateDirectory = setting == "folder";
        }
    }

    private static ListeningSocket Listen(string address, int port, Action<FastCgiListenOptions>? configure = null)
    {
        var options = new FastCgiServerOptions();
        options.Listen(IPAddress.Parse(address), port, configure);
        return SocketBinder.Listen(options.ListenOptions.Single(), new InheritedSockets([]), NullLogger.Instance);
    }

    private static void Connect(Socket listener, string address)
    {
        var endPoint = new IPEndPoint(IPAddress.Parse(address), ((IPEndPoint)listener.LocalEndPoint!).Port);
        using var client = new Socket(endPoint.AddressFamily, SocketType.Stream, ProtocolType.Tcp);
        client.Connect(endPoint);
        Assert.True(client.Connected);
    }
}
