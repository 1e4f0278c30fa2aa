using System.Net;
using System.Net.Sockets;

namespace FastCgi.Client.Tests;

public sealed class AddressTests
{
    [Theory]
    [InlineData("127.0.0.1:9000")]
    [InlineData("fastcgi://127.0.0.1:9000")]
    [InlineData("FastCGI://127.0.0.1:9000/")]
    public void Parse_IPv4_IsAnEndPoint(string address)
        => Assert.Equal(new IPEndPoint(IPAddress.Loopback, 9000), FastCgiAddress.Parse(address).EndPoint);

    [Theory]
    [InlineData("[::1]:9000")]
    [InlineData("fastcgi://[::1]:9000")]
    public void Parse_IPv6_IsAnEndPoint(string address)
        => Assert.Equal(new IPEndPoint(IPAddress.IPv6Loopback, 9000), FastCgiAddress.Parse(address).EndPoint);

    [Theory]
    [InlineData("localhost:9000", "localhost")]
    [InlineData("fastcgi://php.internal:9000", "php.internal")]
    public void Parse_Name_IsResolvedLater(string address, string host)
        => Assert.Equal(new DnsEndPoint(host, 9000), FastCgiAddress.Parse(address).EndPoint);

    [Theory]
    [InlineData("/run/app.sock", "fastcgi://unix:/run/app.sock")]
    [InlineData("unix:/run/app.sock", "fastcgi://unix:/run/app.sock")]
    [InlineData("fastcgi://unix:/run/app.sock", "fastcgi://unix:/run/app.sock")]
    [InlineData("fastcgi://unix:@name", "fastcgi://unix:@name")]
    [InlineData("unix:@name", "fastcgi://unix:@name")]
    public void Parse_Unix_HasALongForm(string address, string longForm)
    {
        var parsed = FastCgiAddress.Parse(address);

        Assert.IsType<UnixDomainSocketEndPoint>(parsed.EndPoint);
        Assert.Equal(longForm, parsed.ToString());
    }

    [Theory]
    [InlineData("")]
    [InlineData("9000")]
    [InlineData(":9000")]
    [InlineData("127.0.0.1")]
    [InlineData("127.0.0.1:0")]
    [InlineData("127.0.0.1:65536")]
    [InlineData("::1:9000")]
    [InlineData("[::1]")]
    [InlineData("http://127.0.0.1:9000")]
    [InlineData("unix:")]
    [InlineData("unix:relative.sock")]
    [InlineData("fastcgi://unix:@")]
    [InlineData("/")]
    [InlineData("*:9000")]
    public void Parse_Other_ErrorListsTheForms(string address)
    {
        var exception = Assert.Throws<FormatException>(() => FastCgiAddress.Parse(address));

        Assert.Contains("unix:/run/app.sock", exception.Message, StringComparison.Ordinal);
        Assert.False(FastCgiAddress.TryParse(address, out _));
    }

    [Fact]
    public void Parse_PathTooLong_IsNone() => Assert.False(FastCgiAddress.TryParse("/" + new string('x', 120), out _));
}
