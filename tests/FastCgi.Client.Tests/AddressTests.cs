namespace FastCgi.Client.Tests;

public sealed class AddressTests
{
    [Theory]
    [InlineData("fastcgi://127.0.0.1:9000", "127.0.0.1:9000", "FastCGI://127.0.0.1:9000/")]
    [InlineData("fastcgi://[::1]:9000", "[::1]:9000")]
    [InlineData("fastcgi://php.internal:9000", "php.internal:9000")]
    [InlineData("fastcgi://unix:/run/app.sock", "/run/app.sock", "unix:/run/app.sock")]
    [InlineData("fastcgi://unix:@name", "unix:@name")]
    public void Parse_AnyForm_HasALongForm(string longForm, params string[] others)
        => Assert.All(
            others.Append(longForm),
            address => Assert.Equal(longForm, FastCgiAddress.Parse(address).ToString()));

    [Fact]
    public void Parse_EachKind_IsItsEndPoint()
    {
        AssertIs(new IPEndPoint(IPAddress.Loopback, 9000), "127.0.0.1:9000");
        AssertIs(new IPEndPoint(IPAddress.IPv6Loopback, 9000), "[::1]:9000");
        AssertIs(new DnsEndPoint("localhost", 9000), "localhost:9000");
        AssertIs(new UnixDomainSocketEndPoint("/run/app.sock"), "/run/app.sock");
        AssertIs(new UnixDomainSocketEndPoint("\0name"), "unix:@name");

        static void AssertIs(EndPoint endPoint, string address)
            => Assert.Equal(endPoint, FastCgiAddress.Parse(address).EndPoint);
    }

    [Theory]
    [InlineData("", "9000", ":9000", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:65536", "::1:9000", "[::1]", "*:9000")]
    [InlineData("http://127.0.0.1:9000", "unix:", "unix:relative.sock", "fastcgi://unix:@", "/")]
    public void Parse_Other_ErrorListsTheForms(params string[] addresses) => Assert.All(addresses, static address =>
    {
        var exception = Assert.Throws<FormatException>(() => FastCgiAddress.Parse(address));
        Assert.Contains("unix:/run/app.sock", exception.Message);
        Assert.False(FastCgiAddress.TryParse(address, out _));
    });

    [Fact]
    public void Parse_PathTooLong_IsNone() => Assert.False(FastCgiAddress.TryParse("/" + new string('x', 120), out _));
}
