namespace FastCgi.AspNetCore.UnitTests.Hosting;

public sealed class EndpointAddressTests
{
    [Theory]
    [InlineData("fastcgi://127.0.0.1:9000", "fastcgi://127.0.0.1:9000/", "FastCGI://127.0.0.1:9000")]
    [InlineData("fastcgi://0.0.0.0:0")]
    [InlineData("fastcgi://10.1.2.3:65535")]
    [InlineData("fastcgi://[::1]:9000")]
    [InlineData("fastcgi://[::]:9000", "fastcgi://*:9000", "fastcgi://+:9000")]
    [InlineData("fastcgi://[2001:db8::1]:9000", "fastcgi://[2001:DB8::0:1]:9000")]
    [InlineData(
        "fastcgi://127.0.0.1:9000 fastcgi://[::1]:9000", "fastcgi://localhost:9000", "fastcgi://LOCALHOST:9000")]
    [InlineData("fastcgi://unix:/run/app.sock")]
    [InlineData("fastcgi://unix:/run/App.sock", "fastcgi://UNIX:/run/App.sock")]
    [InlineData("fastcgi://unix:/run/app:1.sock")]
    [InlineData("fastcgi://unix:@name")]
    [InlineData("fastcgi://fd:0")]
    [InlineData("fastcgi://fd:17")]
    [InlineData("fastcgi://fd:app.socket", "fastcgi://FD:app.socket")]
    [InlineData("fastcgi://fd:2147483648")]
    public void Parse_GoodForm_FormatsAsItsEndPoints(string formatted, params string[] others)
    {
        Assert.Equal(formatted, Format(formatted.Split(' ', 2).SelectMany(EndpointAddress.Parse)));
        Assert.All(others, address => Assert.Equal(formatted, Format(EndpointAddress.Parse(address))));
    }

    [Theory]
    [InlineData(
        "does not begin with fastcgi://", "", "127.0.0.1:9000", "tcp://127.0.0.1:9000", "fastcgi:127.0.0.1:9000",
        " fastcgi://127.0.0.1:9000")]
    [InlineData(
        "no port", "fastcgi://", "fastcgi://:9000", "fastcgi://127.0.0.1", "fastcgi://[::1]", "fastcgi://[::1]9000")]
    [InlineData("no port", "fastcgi://localhost", "fastcgi://*")]
    [InlineData(
        "the port must be a number", "fastcgi://127.0.0.1:", "fastcgi://127.0.0.1:-1", "fastcgi://127.0.0.1:+1",
        "fastcgi://127.0.0.1: 9000")]
    [InlineData("the port must be a number", "fastcgi://127.0.0.1:65536", "fastcgi://127.0.0.1:http")]
    [InlineData("it has a path after the port", "fastcgi://127.0.0.1:9000/app")]
    [InlineData("two addresses", "fastcgi://localhost:0")]
    [InlineData(
        "the host must be", "fastcgi://::1:9000", "fastcgi://[::1:9000", "fastcgi://::1]:9000",
        "fastcgi://[[::1]]:9000", "fastcgi://[::1]:80:9000")]
    [InlineData(
        "the host must be", "fastcgi://[]:9000", "fastcgi://[127.0.0.1]:9000", "fastcgi://[*]:9000",
        "fastcgi://[localhost]:9000")]
    [InlineData("the host must be", "fastcgi://www.example.test:9000", "fastcgi://127.0.0.1:80:9000")]
    [InlineData(
        "the path of a Unix socket", "fastcgi://unix:", "fastcgi://unix:/", "fastcgi://unix:@",
        "fastcgi://unix:app.sock", "fastcgi://unix:./app.sock")]
    public void Parse_BadForm_ErrorNamesTheAddressTheReasonAndTheForms(string reason, params string[] addresses)
        => Assert.All(addresses, address =>
        {
            var error = Assert.Throws<FormatException>(() => EndpointAddress.Parse(address));

            Assert.Contains($"'{address}'", error.Message);
            Assert.Contains(reason, error.Message);
            Assert.Contains("fastcgi://127.0.0.1:9000, fastcgi://[::1]:9000", error.Message);
        });

    [Fact]
    public void ParseWithOptions_All_EndpointHasThem()
    {
        var unix = EndpointAddress.ParseWithOptions(
            "fastcgi://unix:/run/app.sock?mode=0660&group=www%2Ddata&Owner=app&createDirectory=true"
                + "&backlog=5&allowedUsers=a,b&allowedGroups=c").Single();
        var tcp = EndpointAddress.ParseWithOptions("fastcgi://localhost:9000/?allowedAddresses=192.0.2.1,10.0.0.0/8");

        Assert.Equal("fastcgi://unix:/run/app.sock", unix.ToString());
        Assert.Equal(
            ("660", "www-data", "app", true, 5),
            (Convert.ToString((int)unix.Mode!, 8), unix.Group, unix.Owner, unix.CreateDirectory, unix.Backlog));
        Assert.Equal(["a", "b"], unix.AllowedUsers);
        Assert.Equal(["c"], unix.AllowedGroups);
        Assert.Equal(2, tcp.Count);
        Assert.All(tcp, static listen => Assert.Equal(["192.0.2.1", "10.0.0.0/8"], listen.AllowedAddresses));
        Assert.Null(EndpointAddress.ParseWithOptions("fastcgi://unix:/run/app.sock").Single().Mode);
    }

    [Theory]
    [InlineData(
        "fastcgi://unix:/run/app.sock?moed=0660",
        ": 'moed' is not an endpoint option. The options are mode, owner, group, ")]
    [InlineData("fastcgi://unix:/run/app.sock?", ": '' is not an endpoint option")]
    [InlineData("fastcgi://unix:/run/app.sock?mode=0660&", ": '' is not an endpoint option")]
    [InlineData("fastcgi://unix:/run/app.sock?mode", " because of 'mode': a value is missing")]
    [InlineData("fastcgi://unix:/run/app.sock?mode=999", " because of 'mode=999': a mode has three octal digits")]
    [InlineData("fastcgi://unix:/run/app.sock?createDirectory=1", " because of 'createDirectory=1': ")]
    [InlineData("fastcgi://127.0.0.1:9000?backlog=0", " because of 'backlog=0': ")]
    [InlineData("fastcgi://127.0.0.1:9000?backlog=99999999999", " because of 'backlog=99999999999': ")]
    [InlineData("fastcgi://unix:/run/app.sock?mode=0660&Mode=0600", ": it contains 'Mode' twice.")]
    [InlineData("fastcgi://127.0.0.1:9000?allowedAddresses=", " because of 'allowedAddresses=': the list is empty")]
    public void ParseWithOptions_InvalidOption_ErrorNamesItAndKnownOnes(string address, string reason)
    {
        var error = Assert.Throws<FormatException>(() => EndpointAddress.ParseWithOptions(address));

        Assert.StartsWith($"The address '{address}' is not valid{reason}", error.Message);
    }

    [Fact]
    public void Parse_PathTooLong_ErrorShowsAShorterOne()
    {
        var error = Assert.Throws<FormatException>(
            () => EndpointAddress.Parse("fastcgi://unix:/" + new string('x', 200)));

        Assert.Contains("is too long", error.Message);
    }

    [Fact]
    public void Parse_Forms_AreTheEndPointsOfTheSystem()
    {
        Assert.Equal(
            new IPEndPoint(IPAddress.Parse("127.0.0.1"), 9000),
            EndpointAddress.Parse("fastcgi://127.0.0.1:9000").Single());
        Assert.Equal(new IPEndPoint(IPAddress.IPv6Any, 9000), EndpointAddress.Parse("fastcgi://*:9000").Single());
        Assert.Equal(
            new UnixDomainSocketEndPoint("/run/app.sock"),
            EndpointAddress.Parse("fastcgi://unix:/run/app.sock").Single());
        Assert.Equal(new UnixDomainSocketEndPoint("\0name"), EndpointAddress.Parse("fastcgi://unix:@name").Single());
        Assert.Equal(
            3UL, Assert.IsType<FileHandleEndPoint>(EndpointAddress.Parse("fastcgi://fd:3").Single()).FileHandle);
        Assert.Equal(
            "web", Assert.IsType<InheritedSocketEndPoint>(EndpointAddress.Parse("fastcgi://fd:web").Single()).Name);
    }

    [Theory]
    [InlineData("fastcgi://127.0.0.1:9000", true, false)]
    [InlineData("FASTCGI://x", true, false)]
    [InlineData("http://*:80", false, true)]
    [InlineData("HTTPS://*:443", false, true)]
    [InlineData("fastcgi:", false, false)]
    [InlineData("ftp://h", false, false)]
    public void IsFastCgiAndIsHttp_ByScheme(string address, bool isFastCgi, bool isHttp)
        => Assert.Equal((isFastCgi, isHttp), (EndpointAddress.IsFastCgi(address), EndpointAddress.IsHttp(address)));

    [Fact]
    public void Format_OtherEndPoint_ItsOwnText()
        => Assert.Equal("fastcgi://Unspecified/name:1", EndpointAddress.Format(new DnsEndPoint("name", 1)));

    private static string Format(IEnumerable<EndPoint> endPoints)
        => string.Join(' ', endPoints.Select(EndpointAddress.Format));
}
