namespace FastCgi.AspNetCore.UnitTests.Hosting;

public sealed class PeerPoliciesTests
{
    private static readonly IPEndPoint s_tcp = new(IPAddress.Any, 9000);
    private static readonly UnixDomainSocketEndPoint s_unix = new("/run/app.sock");

    /// <summary>The allowed peers, the variable's value, and the peers that connect.</summary>
    [Theory]
    [InlineData("192.0.2.1", null, true, "192.0.2.1", "::ffff:192.0.2.1")]
    [InlineData("192.0.2.1", null, false, "192.0.2.2", "::ffff:192.0.2.2", "::1")]
    [InlineData("10.0.0.0/8", null, true, "10.255.0.1", "::ffff:10.255.0.1")]
    [InlineData("10.0.0.0/8", null, false, "11.0.0.1", "::ffff:11.0.0.1")]
    [InlineData("0.0.0.0/0", null, true, "::ffff:192.0.2.1")]
    [InlineData("0.0.0.0/0", null, false, "2001:db8::1")]
    [InlineData("::ffff:10.0.0.0/104", null, true, "::ffff:10.0.0.1")]
    [InlineData("10.0.0.1/8", null, true, "10.255.0.1")]
    [InlineData("2001:db8::/32", null, true, "2001:db8:1::1")]
    [InlineData("2001:db8::/32", null, false, "2001:db9::1")]
    [InlineData("::1", null, true, "::1")]
    [InlineData("192.0.2.1 10.0.0.0/8", null, true, "10.0.0.1")]
    [InlineData("", null, true, "192.0.2.1")]
    [InlineData("", "", true, "192.0.2.1")]
    [InlineData("", "192.0.2.1", true, "192.0.2.1")]
    [InlineData("", "192.0.2.1", false, "192.0.2.2")]
    [InlineData("", "192.0.2.1,192.0.2.2", true, "192.0.2.2")]
    [InlineData("", "192.0.2.1, 192.0.2.2", true, "192.0.2.2")]
    [InlineData("10.0.0.0/8", "10.0.0.1", true, "10.0.0.1")]
    [InlineData("10.0.0.0/8", "10.0.0.1", false, "10.0.0.2")]
    [InlineData("10.0.0.0/8", "192.0.2.1", false, "192.0.2.1")]
    public void Allows_Address_AsTheListsSay(
        string allowed, string? variable, bool isAllowed, params string[] addresses)
    {
        var policy = PeerPolicies.Create(
            Tcp(allowed.Split(' ', StringSplitOptions.RemoveEmptyEntries)), s_tcp, variable);

        Assert.All(addresses, address => Assert.Equal(isAllowed, policy.Allows(new IPEndPoint(
            IPAddress.Parse(address), 50_000))));
    }

    [Theory]
    [InlineData("example.test", "192.0.2", "1", "192.0.2.256", "10.0.0.0/33", "")]
    [InlineData("010.0.0.1", "010.0.0.0/8", "10/8", "0xa.0.0.0/8", "::ffff:010.0.0.0/104", "10.0.0.1:80", "10.0.0.1,")]
    public void Create_BadAddress_ErrorNamesIt(params string[] addresses) => Assert.All(addresses, static address =>
    {
        var error = Assert.Throws<IOException>(() => PeerPolicies.Create(Tcp(address), s_tcp, null));
        Assert.Contains($"'{address}' in AllowedAddresses", error.Message);
    });

    [Theory]
    [InlineData(",", "192.0.2.1,", "192.0.2.1;192.0.2.2", "192.0.2.0/24", "localhost", "010.0.0.1")]
    public void Create_BadVariable_ErrorInsteadOfEveryone(params string[] variables)
        => Assert.All(variables, static variable =>
        {
            var error = Assert.Throws<IOException>(() => PeerPolicies.Create(Tcp(), s_tcp, variable));
            Assert.Contains($"FCGI_WEB_SERVER_ADDRS is '{variable}'", error.Message);
        });

    [Theory]
    [InlineData(1000u, 5u, true)]
    [InlineData(1001u, 33u, true)]
    [InlineData(1001u, 5u, false)]
    public void Allows_Process_ByUserOrGroup(uint user, uint group, bool isAllowed)
    {
        var policy = PeerPolicies.Create(Unix("1000", "33"), s_unix, null);

        Assert.Equal(isAllowed, policy.Allows(new PeerCredentials(user, [7, group])));
    }

    [Fact]
    public void Create_UnknownUserOrGroup_ErrorNamesIt()
    {
        Assert.Contains("the user 'no-such-user' does not exist", Assert.Throws<IOException>(() => PeerPolicies.Create(
            Unix("no-such-user", "0"), s_unix, null)).Message);
        Assert.Contains(
            "the group 'no-such-group' does not exist",
            Assert.Throws<IOException>(() => PeerPolicies.Create(Unix("0", "no-such-group"), s_unix, null)).Message);
    }

    [Fact]
    public void Create_ListsOfTheOtherKindOfSocket_Error()
    {
        Assert.Contains("AllowedUsers or AllowedGroups", Assert.Throws<IOException>(() => PeerPolicies.Create(
            Tcp("192.0.2.1"), s_unix, null)).Message);
        Assert.Contains("Use AllowedAddresses", Assert.Throws<IOException>(() => PeerPolicies.Create(
            Unix("0", "0"), s_tcp, null)).Message);
    }

    [Theory]
    [InlineData("0.0.0.0", "", true)]
    [InlineData("::", "", true)]
    [InlineData("192.0.2.1", "", true)]
    [InlineData("127.0.0.1", "", false)]
    [InlineData("::1", "", false)]
    [InlineData("0.0.0.0", "10.0.0.0/8", false)]
    public void IsOpen_Address_UnlessLoopbackOrRestricted(string address, string allowed, bool isOpen)
    {
        var policy = PeerPolicies.Create(Tcp(allowed.Split(' ', StringSplitOptions.RemoveEmptyEntries)), s_tcp, null);

        Assert.Equal(isOpen, PeerPolicies.IsOpen(policy, new IPEndPoint(IPAddress.Parse(address), 9000)));
    }

    private static FastCgiListenOptions Tcp(params string[] addresses)
    {
        var options = new FastCgiListenOptions(s_tcp);
        foreach (var address in addresses)
            options.AllowedAddresses.Add(address);
        return options;
    }

    private static FastCgiListenOptions Unix(string user, string group)
    {
        var options = new FastCgiListenOptions(s_unix);
        options.AllowedUsers.Add(user);
        options.AllowedGroups.Add(group);
        return options;
    }
}
