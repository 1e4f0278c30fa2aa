namespace FastCgi.AspNetCore.UnitTests.Linux;

/// <summary>How the log describes the other end of a connection.</summary>
public sealed class PeerAddressTests : IDisposable
{
    private readonly List<Socket> _sockets = [];

    public void Dispose() => _sockets.ForEach(static socket => socket.Dispose());

    [Fact]
    public void Get_OfTcp_IsTheAddressAndTheSocketLivesOn()
    {
        var (server, client) = Connect(TestSockets.ListenTcp());

        Assert.Equal(client.LocalEndPoint, PeerAddress.Get(server));
        Assert.Equal(client.LocalEndPoint!.ToString(), PeerAddress.Describe(server));
        Assert.Equal(1, client.Send(new byte[1]));
        Assert.Equal(1, server.Receive(new byte[1]));
    }

    /// <summary>A process cannot put control characters into the log with its name.</summary>
    [Theory]
    [InlineData("a plain name~", "a plain name~")]
    [InlineData("\u001b[31m\u007f\t!", "?[31m??!")]
    public void Describe_AUnixSocket_NameUserAndTheSocketLivesOn(string name, string shown)
    {
        var (server, client) = Connect(TestSockets.ListenUnix());
        var file = $"/proc/self/task/{Environment.ProcessId}/comm";
        var before = File.ReadAllText(file);
        File.WriteAllText(file, name);
        try
        {
            var group = SystemAccounts.GetGroupName(LocalAccounts.Find(Environment.UserName)!.Groups[0]);
            var expected = $"process {Environment.ProcessId} ({shown}) of the user {Environment.UserName} and the "
                + $"group {group} over a Unix socket";
            Assert.Equal(expected, PeerAddress.Describe(server));
        }
        finally
        {
            File.WriteAllText(file, before.TrimEnd('\n'));
        }

        Assert.Equal(1, client.Send(new byte[1]));
        Assert.Equal(1, server.Receive(new byte[1]));
    }

    [Theory]
    [InlineData("192.0.2.1", "192.0.2.1:9000")]
    [InlineData("::ffff:192.0.2.1", "192.0.2.1:9000")]
    [InlineData("2001:db8::1", "[2001:db8::1]:9000")]
    public void Describe_Address_AsInTheSetting(string address, string shown)
        => Assert.Equal(shown, PeerAddress.Describe(new IPEndPoint(IPAddress.Parse(address), 9_000)));

    [Fact]
    public void Describe_NoAddress_IsUnknown()
    {
        using var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);

        Assert.Null(PeerAddress.Get(socket));
        Assert.Equal("an unknown peer", PeerAddress.Describe(socket));
        Assert.Equal("an unknown peer", PeerAddress.Describe((EndPoint?)null));
        Assert.Contains("example.com", PeerAddress.Describe(new DnsEndPoint("example.com", 9_000)));
    }

    /// <summary>A setting for one kind of endpoint excludes all peers of the other kind.</summary>
    [Theory]
    [InlineData(true, false, false)]
    [InlineData(false, true, false)]
    [InlineData(false, false, true)]
    [InlineData(true, true, false)]
    [InlineData(true, false, true)]
    public void Allows_SettingIsOfTheOtherKind_None(bool hasAddresses, bool hasUsers, bool hasGroups)
    {
        var policy = new PeerPolicy
        {
            Addresses = hasAddresses ? [[IPNetwork.Parse("0.0.0.0/0")]] : [],
            Users = hasUsers ? [SystemAccounts.FindUser(Environment.UserName)!.Value] : [],
            Groups = hasGroups ? [0, LocalAccounts.Find(Environment.UserName)!.Groups[0]] : [],
        };
        var (tcp, _) = Connect(TestSockets.ListenTcp());
        var (unix, _) = Connect(TestSockets.ListenUnix());

        Assert.True(policy.IsRestricted);
        Assert.Equal(hasAddresses && !hasUsers && !hasGroups, policy.Allows(tcp));
        Assert.Equal(!hasAddresses, policy.Allows(unix));
        Assert.Equal(!hasAddresses, policy.Allows((EndPoint?)null));
    }

    private (Socket Server, Socket Client) Connect(Socket listener)
    {
        var client = TestSockets.Connect(listener);
        var server = listener.Accept();
        _sockets.AddRange([listener, client, server]);
        return (server, client);
    }
}
