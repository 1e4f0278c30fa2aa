namespace FastCgi.AspNetCore.UnitTests.Requests;

public sealed class RequestParametersTests
{
    private RequestParameters _parameters = new(new CgiMapping(new()), []);

    [Fact]
    public void Append_AnyPieces_TheBytesInOrder()
    {
        var bytes = CgiParameters.Get(("REQUEST_URI", "/" + new string('x', 5_000)), ("HTTP_HOST", "h")).Bytes;
        foreach (var size in (int[])[1, 7, 511, 512, 513, 4_096, bytes.Length])
        {
            var parameters = new PieceBuffer();
            for (var start = 0; start < bytes.Length; start += size)
                parameters.Append(
                    bytes.AsSpan(start, Math.Min(size, bytes.Length - start)), isWhole: size == bytes.Length);

            Assert.Equal(bytes.Length, parameters.Length);
            Assert.Equal(bytes, parameters.RemoveAll());
            Assert.Equal(0, parameters.Length);
        }
    }

    [Fact]
    public void GetVariable_Name_TheLastInAnyCase()
    {
        Append(("REMOTE_USER", "a"), ("remote_user", "b"), ("EMPTY", ""), ("REMOTE_USERS", "c"));

        Assert.Equal("b", _parameters.GetVariable("REMOTE_USER"));
        Assert.Equal("b", _parameters.GetVariable("Remote_User"));
        Assert.Equal("", _parameters.GetVariable("EMPTY"));
        Assert.Null(_parameters.GetVariable("ABSENT"));
        Assert.Null(_parameters.GetVariable("REMOTE_USE"));
    }

    [Fact]
    public void GetVariables_All_InOrderWithRepeatedAndOddOnes()
    {
        Append(
            ("B", "1"), ("A", "2"), ("B", "3"), ("proxy-nokeepalive", "1"), ("", "nameless"), ("caf\xe9", "\xc3\xa9"));

        Assert.Equal(
            [new("REQUEST_METHOD", "GET"), new("B", "1"), new("A", "2"), new("B", "3"), new(
                "proxy-nokeepalive", "1"), new("", "nameless"), new("café", "é")],
            _parameters.GetVariables());
    }

    [Theory]
    [InlineData("HTTP_COOKIE", false)]
    [InlineData("HTTP_AUTHORIZATION", false)]
    [InlineData("HTTP_PROXY_AUTHORIZATION", false)]
    [InlineData("REDIRECT_HTTP_AUTHORIZATION", false)]
    [InlineData("HTTP_HOST", true)]
    [InlineData("SERVER_NAME", true)]
    [InlineData("REMOTE_ADDR", false)]
    [InlineData("REMOTE_PORT", false)]
    [InlineData("QUERY_STRING", false)]
    [InlineData("REQUEST_URI", false)]
    [InlineData("HTTP_X_FORWARDED_FOR", false)]
    public void GetVariable_SecretOrHardlyRepeated_IsNotShared(string name, bool isShared)
    {
        Append((name, "a value"));

        Assert.Equal(isShared, ReferenceEquals(_parameters.GetVariable(name), _parameters.GetVariable(name)));
        Assert.Equal(
            isShared, ReferenceEquals(_parameters.GetVariables()[^1].Value, _parameters.GetVariables()[^1].Value));
        Assert.Equal("a value", _parameters.GetVariable(name));
    }

    [Theory]
    [InlineData("192.0.2.1", "49152", "192.0.2.1", 49_152)]
    [InlineData("2001:db8::1", "1", "2001:db8::1", 1)]
    [InlineData("::ffff:192.0.2.1", "65535", "::ffff:192.0.2.1", 65_535)]
    [InlineData("unix:", "", null, 0)]
    [InlineData("", "0", null, 0)]
    [InlineData(null, null, null, 0)]
    [InlineData("www.example.test", "65536", null, 0)]
    [InlineData("192.0.2.1", "-1", "192.0.2.1", 0)]
    [InlineData("192.0.2.1", "80,80", "192.0.2.1", 0)]
    // A port beside the address is the address's own; the other may be the load balancer's.
    [InlineData("192.0.2.1:51656", null, "192.0.2.1", 51_656)]
    [InlineData("192.0.2.1:51656", "1", "192.0.2.1", 51_656)]
    [InlineData("[2001:db8::7]:443", "1", "2001:db8::7", 443)]
    [InlineData("192.0.2.1:0", "1", "192.0.2.1", 1)]
    [InlineData("[2001:db8::7]", "1", "2001:db8::7", 1)]
    [InlineData("fe80::1%7", "1", "fe80::1%7", 1)]
    // A list of one.
    [InlineData("192.0.2.1, ", "1", "192.0.2.1", 1)]
    [InlineData(" 192.0.2.1:51656,", null, "192.0.2.1", 51_656)]
    [InlineData("192.0.2.1, 192.0.2.2", "1", null, 1)]
    // Others read these as another address.
    [InlineData("010.0.0.1", null, null, 0)]
    [InlineData("0.0.0.00", null, null, 0)]
    [InlineData("0x7f.0.0.1:80", null, null, 0)]
    [InlineData("1.2", null, null, 0)]
    [InlineData("16909060", null, null, 0)]
    [InlineData("::ffff:010.0.0.1", null, null, 0)]
    [InlineData("192.0.2.1:65536", null, null, 0)]
    [InlineData("192.0.2.1:", null, null, 0)]
    [InlineData("192.0.2.1:80:80", null, null, 0)]
    [InlineData("192.0.2.1/24", null, null, 0)]
    [InlineData(", ", null, null, 0)]
    [InlineData("::ffff:1.2.3.010", null, null, 0)]
    [InlineData("[::1.2.3.010]:80", null, null, 0)]
    [InlineData("[::ffff:192.0.2.1%1]:80", null, "::ffff:192.0.2.1%1", 80)]
    [InlineData("fe80::1%eth9.100", "1", "fe80::1", 1)]
    public void RequestAddresses_Variables_AreTheAddressesOrNone(
        string? address, string? port, string? expectedAddress, int expectedPort)
    {
        if (address is not null)
            Append(("REMOTE_ADDR", address), ("SERVER_ADDR", address));
        if (port is not null)
            Append(("REMOTE_PORT", port), ("SERVER_PORT", port));

        var addresses = new RequestAddresses(_parameters);

        Assert.Equal((expectedAddress, expectedPort), (addresses.RemoteIpAddress?.ToString(), addresses.RemotePort));
        Assert.Equal((expectedAddress, expectedPort), (addresses.LocalIpAddress?.ToString(), addresses.LocalPort));
    }

    private void Append(params ReadOnlySpan<(string Name, string Value)> variables)
        => _parameters = new(new CgiMapping(new()), [.. _parameters.Span, .. CgiParameters.Get(variables).Bytes]);
}
