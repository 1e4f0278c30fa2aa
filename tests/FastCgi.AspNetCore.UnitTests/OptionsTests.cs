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

    [Theory]
    [InlineData("app")]
    [InlineData(" /app")]
    [InlineData("http://host/app")]
    public void PathBase_WithoutALeadingSlash_IsRefused(string value)
    {
        var error = Assert.Throws<ArgumentException>(() => _options.PathBase = value);

        Assert.Contains(value, error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void PathBase_Null_IsRefused() => Assert.Throws<ArgumentNullException>(() => _options.PathBase = null!);

    [Theory]
    [InlineData("/health", "/health")]
    [InlineData("/health/", "/health")]
    [InlineData("/status/live", "/status/live")]
    public void ReservedPaths_Added_HaveNoTrailingSlash(string value, string kept)
    {
        _options.ReservedPaths.Add(value);

        Assert.Equal([kept], _options.ReservedPaths);
        _options.ReservedPaths[0] = "/other/";
        Assert.Equal(["/other"], _options.ReservedPaths);
    }

    [Theory]
    [InlineData("")]
    [InlineData("/")]
    [InlineData("//")]
    [InlineData("health")]
    public void ReservedPaths_AllOrNoPath_IsRefused(string value)
    {
        Assert.Throws<ArgumentException>(() => _options.ReservedPaths.Add(value));
        _options.ReservedPaths.Add("/health");
        Assert.Throws<ArgumentException>(() => _options.ReservedPaths[0] = value);
        Assert.Throws<ArgumentNullException>(() => _options.ReservedPaths.Add(null!));
        Assert.Equal(["/health"], _options.ReservedPaths);
    }

    [Fact]
    public void Listen_EachForm_IsAnEndpoint()
    {
        _options.Listen(IPAddress.Loopback, 9000);
        _options.Listen(new UnixDomainSocketEndPoint("/run/a.sock"));
        _options.Listen("fastcgi://[::1]:9001");
        _options.ListenLocalhost(9002);
        _options.ListenAnyIP(0);
        _options.ListenUnixSocket("/run/b.sock");
        _options.ListenUnixSocket("@name");

        Assert.Equal(
            [
                "fastcgi://127.0.0.1:9000", "fastcgi://unix:/run/a.sock", "fastcgi://[::1]:9001", "fastcgi://127.0.0.1:9002", "fastcgi://[::1]:9002",
                "fastcgi://[::]:0", "fastcgi://unix:/run/b.sock", "fastcgi://unix:@name",
            ],
            _options.ListenOptions.Select(static endpoint => endpoint.ToString()));
    }

    [Fact]
    public void Listen_Configured_EveryEndpointOfTheAddress()
    {
        _options.ListenLocalhost(9000, static endpoint => endpoint.Backlog = 7);

        Assert.All(_options.ListenOptions, static endpoint => Assert.Equal(7, endpoint.Backlog));
        Assert.Equal(2, _options.ListenOptions.Count);
    }

    [Fact]
    public void Listen_ConfigurationFails_NoEndpointIsLeft()
    {
        Assert.Throws<ArgumentOutOfRangeException>(() => _options.ListenAnyIP(9000, static endpoint => endpoint.Backlog = 0));

        Assert.Empty(_options.ListenOptions);
    }

    [Fact]
    public void Listen_BadArguments_AreRefused()
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
        Assert.Empty(_options.ListenOptions);
    }

    [Fact]
    public void Backlog_DefaultAndRange()
    {
        _options.ListenAnyIP(9000);
        var endpoint = _options.ListenOptions.Single();
        Assert.Equal(4_096, endpoint.Backlog);

        endpoint.Backlog = 1;
        Assert.Equal(1, endpoint.Backlog);
        Assert.Throws<ArgumentOutOfRangeException>(() => endpoint.Backlog = 0);
        Assert.Throws<ArgumentOutOfRangeException>(() => endpoint.Backlog = -1);
    }
}
