namespace FastCgi.AspNetCore.UnitTests.Advice;

public sealed class WebServerBlockTests
{
    [Theory]
    [InlineData("127.0.0.1:9000", "127.0.0.1:9000")]
    [InlineData("10.0.0.1:9000", "10.0.0.1:9000")]
    [InlineData("0.0.0.0:9000", "127.0.0.1:9000")]
    [InlineData("[::]:9000", "127.0.0.1:9000")]
    [InlineData("[::1]:9000", "[::1]:9000")]
    public void Tcp_IsReachableByTheAddress(string endPoint, string address)
    {
        var blocks = Create(IPEndPoint.Parse(endPoint), "", "nginx", "apache2");

        Assert.Contains($"        fastcgi_pass {address};\n", blocks[0].Text.ReplaceLineEndings("\n"));
        Assert.Contains(
            $"    ProxyPass \"/\" \"fcgi://{address}/\" flushpackets=on timeout=120\n",
            blocks[1].Text.ReplaceLineEndings("\n"));
    }

    /// <summary>Debian's default site answers all IPv6 requests, and localhost resolves to ::1 first.</summary>
    [Theory, Values(true, false)]
    public void Nginx_ListensToIPv6WhereTheMachineHasIt(bool hasIPv6)
    {
        var block = WebServerBlock.Create(
            IPEndPoint.Parse("127.0.0.1:9000"),
            "",
            "hello",
            hasIPv6,
            static path => path == "/usr/sbin/nginx").Single();

        Assert.Contains(
            hasIPv6 ? "    listen 80;\n    listen [::]:80;\n    server_name" : "    listen 80;\n    server_name",
            block.Text.ReplaceLineEndings("\n"));
    }

    [Fact]
    public void NoWebServerOrComplexSocket_PrintsNoBlock()
    {
        Assert.Empty(Create(IPEndPoint.Parse("127.0.0.1:9000"), ""));
        foreach (var path in (string[])["@abstract", "/run/a b/app.sock", "/run/hello;drop/app.sock"])
            Assert.Empty(Create(EndpointAddress.ToUnixEndPoint(path), "", "nginx"));
    }

    private static IReadOnlyList<WebServerBlock> Create(EndPoint endPoint, string pathBase, params string[] installed)
        => WebServerBlock.Create(
            endPoint,
            pathBase,
            "Hello.Web",
            hasIPv6: true,
            path => installed.Select(static program => "/usr/sbin/" + program).Contains(path));
}
