namespace FastCgi.AspNetCore.UnitTests;

public sealed class OptionsTests
{
    private readonly FastCgiServerOptions _options = new();

    [Theory]
    [InlineData("", "")]
    [InlineData("/", "")]
    [InlineData("/app", "/app")]
    [InlineData("/app/", "/app")]
    [InlineData("/app//", "/app")]
    [InlineData("/a/b", "/a/b")]
    [InlineData("/größe", "/größe")]
    public void PathBase_Set_HasNoTrailingSlash(string value, string kept)
    {
        _options.PathBase = value;

        Assert.Equal(kept, _options.PathBase);
    }

    [Fact]
    public void PathBase_WithoutALeadingSlash_IsRefused()
    {
        foreach (var value in (string[])["app", " /app", "http://host/app"])
            Assert.Contains(value, Assert.Throws<ArgumentException>(() => _options.PathBase = value).Message);
        Assert.Throws<ArgumentNullException>(() => _options.PathBase = null!);
    }

    [Fact]
    public void Listen_EachForm_IsAnEndpoint()
    {
        _options.Listen(IPAddress.Loopback, 9000);
        _options.Listen(new UnixDomainSocketEndPoint("/run/a.sock"));
        _options.Listen("fastcgi://[::1]:9001");
        _options.ListenLocalhost(9002, static endpoint => endpoint.Backlog = 7);
        _options.ListenAnyIP(0);
        _options.ListenUnixSocket("/run/b.sock");
        _options.ListenUnixSocket("@name");

        Assert.Equal(
            [
                ("fastcgi://127.0.0.1:9000", 4_096), ("fastcgi://unix:/run/a.sock", 4_096),
                ("fastcgi://[::1]:9001", 4_096), ("fastcgi://127.0.0.1:9002", 7),
                ("fastcgi://[::1]:9002", 7), ("fastcgi://[::]:0", 4_096), ("fastcgi://unix:/run/b.sock", 4_096),
                ("fastcgi://unix:@name", 4_096),
            ],
            _options.ListenOptions.Select(static endpoint => (endpoint.ToString(), endpoint.Backlog)));
    }

    [Fact]
    public void Listen_BadArguments_AreRefusedAndNoEndpointIsLeft()
    {
        Assert.Throws<ArgumentOutOfRangeException>(() => _options.Listen(IPAddress.Loopback, -1));
        Assert.Throws<ArgumentOutOfRangeException>(() => _options.Listen(IPAddress.Loopback, 65_536));
        Assert.Throws<ArgumentNullException>(() => _options.Listen((EndPoint)null!));
        Assert.Throws<ArgumentNullException>(() => _options.Listen((string)null!));
        Assert.Throws<FormatException>(() => _options.Listen("http://*:80"));
        Assert.Throws<FormatException>(() => _options.ListenLocalhost(0));
        Assert.Throws<FormatException>(() => _options.ListenLocalhost(-1));
        Assert.Throws<ArgumentOutOfRangeException>(() => _options.ListenAnyIP(65_536));
        Assert.Throws<ArgumentException>(() => _options.ListenUnixSocket(""));
        Assert.Throws<FormatException>(() => _options.ListenUnixSocket("/" + new string('x', 200)));
        Assert.Throws<ArgumentOutOfRangeException>(
            () => _options.ListenAnyIP(9000, static endpoint => endpoint.Backlog = 0));
        Assert.Throws<ArgumentOutOfRangeException>(
            () => _options.ListenAnyIP(9000, static endpoint => endpoint.Backlog = -1));
        Assert.Empty(_options.ListenOptions);
    }
}
