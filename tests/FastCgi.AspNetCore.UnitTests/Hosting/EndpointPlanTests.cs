using System.Net;
using FastCgi.AspNetCore.Hosting;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.Logging;

namespace FastCgi.AspNetCore.UnitTests.Hosting;

public sealed class EndpointPlanTests : IDisposable
{
    private const string Default = "fastcgi://127.0.0.1:9000";

    private readonly CollectedLogs _logs = new();
    private readonly FastCgiServerOptions _options = new();
    private readonly Dictionary<string, string?> _configuration = [];
    private InheritedSockets _inherited = new([]);

    public void Dispose() => _logs.Dispose();

    [Fact]
    public void Make_Nothing_TheDefault()
    {
        AssertPlan(Make([]), [Default], []);
        Assert.Empty(_logs.All);
    }

    [Fact]
    public void Make_FastCgiUrls_OurEndpoints()
    {
        _configuration["urls"] = "fastcgi://127.0.0.1:9001;fastcgi://unix:/run/app.sock";

        AssertPlan(Make(["fastcgi://127.0.0.1:9001", "fastcgi://unix:/run/app.sock"]), ["fastcgi://127.0.0.1:9001", "fastcgi://unix:/run/app.sock"], []);
        Assert.Empty(_logs.All);
    }

    [Fact]
    public void Make_EndpointsOfCodeAndUrls_AllInThatOrder()
    {
        _options.Listen(IPAddress.Loopback, 9002);

        AssertPlan(Make(["fastcgi://127.0.0.1:9001"]), ["fastcgi://127.0.0.1:9002", "fastcgi://127.0.0.1:9001"], []);
    }

    [Fact]
    public void Make_EndpointsOfCode_NoDefaultBesideThem()
    {
        _options.ListenUnixSocket("/run/app.sock");

        AssertPlan(Make([]), ["fastcgi://unix:/run/app.sock"], []);
    }

    [Fact]
    public void Make_FastCgiAndHttpInUrls_EachIsServed()
    {
        _configuration["urls"] = "http://*:8080;fastcgi://127.0.0.1:9001;HTTPS://*:8443";
        _configuration["http_ports"] = "8080";

        AssertPlan(Make(["http://*:8080", "fastcgi://127.0.0.1:9001", "HTTPS://*:8443"]), ["fastcgi://127.0.0.1:9001"], ["http://*:8080", "HTTPS://*:8443"]);
        Assert.Empty(_logs.All);
    }

    [Fact]
    public void Make_HttpPortsAndFastCgiInCode_PortsAreDroppedWithALine()
    {
        _options.Listen(IPAddress.Loopback, 9002);
        _configuration["http_ports"] = "8080; 80 ;";
        _configuration["https_ports"] = "8443";

        AssertPlan(Make(["http://*:8080", "http://*:80", "https://*:8443"]), ["fastcgi://127.0.0.1:9002"], []);
        var (level, _, name, message, _) = Assert.Single(_logs.All);
        Assert.Equal((LogLevel.Information, "PortsDropped"), (level, name));
        Assert.Contains("http://*:8080, http://*:80, https://*:8443", message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("http://*:8081")]
    [InlineData("http://localhost:8080")]
    [InlineData("https://*:8080")]
    public void Make_AddressAddedInCodeBesidePorts_IsKept(string address)
    {
        _options.Listen(IPAddress.Loopback, 9002);
        _configuration["http_ports"] = "8080";

        AssertPlan(Make(["http://*:8080", address]), ["fastcgi://127.0.0.1:9002"], [address]);
        Assert.Single(_logs.All);
    }

    [Fact]
    public void Make_HttpAddressAddedInCodeWithoutPorts_IsKept()
    {
        _options.Listen(IPAddress.Loopback, 9002);

        AssertPlan(Make(["http://localhost:5000"]), ["fastcgi://127.0.0.1:9002"], ["http://localhost:5000"]);
        Assert.Empty(_logs.All);
    }

    [Theory]
    [InlineData(true, LogLevel.Information)]
    [InlineData(false, LogLevel.Warning)]
    public void Make_OnlyHttpUrls_KestrelAloneWithALineThatTellsHowToGetFastCgi(bool isDevelopment, LogLevel level)
    {
        _configuration["urls"] = "http://localhost:5000";

        AssertPlan(Make(["http://localhost:5000"], isDevelopment: isDevelopment), [], ["http://localhost:5000"]);
        AssertOnlyHttp(level);
    }

    [Fact]
    public void Make_OnlyHttpPorts_KestrelAlone()
    {
        _configuration["http_ports"] = "8080";

        AssertPlan(Make(["http://*:8080"]), [], ["http://*:8080"]);
        AssertOnlyHttp();
    }

    [Fact]
    public void Make_OnlyEndpointsOfKestrelsConfiguration_KestrelAlone()
    {
        AssertPlan(Make([], hasHttpEndpoints: true), [], []);
        AssertOnlyHttp();
    }

    [Fact]
    public void Make_FastCgiAndEndpointsOfKestrelsConfiguration_Both()
    {
        AssertPlan(Make(["fastcgi://127.0.0.1:9001"], hasHttpEndpoints: true), ["fastcgi://127.0.0.1:9001"], []);
        Assert.Empty(_logs.All);
    }

    [Theory]
    [InlineData("tcp://127.0.0.1:9000")]
    [InlineData("127.0.0.1:9000")]
    [InlineData("fastcgi://127.0.0.1")]
    public void Make_UnknownForm_ErrorShowsTheForms(string address)
    {
        var error = Assert.Throws<FormatException>(() => Make(["http://*:80", address]));

        Assert.Contains(address, error.Message, StringComparison.Ordinal);
        Assert.Contains("Valid forms are ", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void Make_InheritedSockets_AllInsteadOfTheDefault()
    {
        Inherit((0, null), (3, "web"), (4, "web"));

        AssertPlan(Make([]), ["fastcgi://fd:0", "fastcgi://fd:3", "fastcgi://fd:4"], []);
        Assert.Empty(_logs.All);
    }

    [Fact]
    public void Make_InheritedSocketsAndEndpointsElsewhere_Both()
    {
        Inherit((3, "web"));
        _options.Listen(IPAddress.Loopback, 9002);

        AssertPlan(Make(["fastcgi://127.0.0.1:9001"]), ["fastcgi://127.0.0.1:9002", "fastcgi://127.0.0.1:9001", "fastcgi://fd:3"], []);
    }

    [Fact]
    public void Make_InheritedSocketsAndPorts_PortsAreDropped()
    {
        Inherit((0, null));
        _configuration["http_ports"] = "8080";

        AssertPlan(Make(["http://*:8080"]), ["fastcgi://fd:0"], []);
        Assert.Equal("PortsDropped", Assert.Single(_logs.All).EventName);
    }

    [Fact]
    public void Make_EndpointsNameInheritedSockets_OnlyThose()
    {
        Inherit((0, null), (3, "web"), (4, "admin"), (5, "web"));
        _options.ListenSystemdSocket("web", static listen => listen.Backlog = 7);
        _options.ListenHandle(9);

        var plan = Make([]);

        AssertPlan(plan, ["fastcgi://fd:3", "fastcgi://fd:5", "fastcgi://fd:9"], []);
        Assert.Equal([7, 7, 4_096], plan.FastCgi.Select(static endpoint => endpoint.Backlog));
    }

    [Theory]
    [InlineData("fastcgi://fd:other", "no socket named 'other' was passed to this process. The passed names are web")]
    [InlineData("fastcgi://fd:Web", "no socket named 'Web' was passed to this process. The passed names are web")]
    public void Make_UnknownNameOfInheritedSocket_ErrorTellsTheNames(string address, string reason)
    {
        Inherit((0, null), (3, "web"), (4, "web"));

        var error = Assert.Throws<IOException>(() => Make([address]));

        Assert.StartsWith($"Failed to listen on {address}: {reason};", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void Make_NameAndNoInheritedSockets_ErrorSaysThatThereAreNone()
    {
        var error = Assert.Throws<IOException>(() => Make(["fastcgi://fd:web"]));

        Assert.Contains("'web' was passed to this process. No sockets were passed;", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void Make_InheritedSocketsOfAnotherProcess_AreNotUsedWithAWarning()
    {
        _inherited = new InheritedSockets([], "LISTEN_PID is 1");

        AssertPlan(Make([]), [Default], []);
        var (level, _, name, message, _) = Assert.Single(_logs.All);
        Assert.Equal((LogLevel.Warning, "InheritedSocketsIgnored"), (level, name));
        Assert.Contains("LISTEN_PID is 1", message, StringComparison.Ordinal);
    }

    [Fact]
    public void Make_NameAndInheritedSocketsOfAnotherProcess_ErrorSaysWhy()
    {
        _inherited = new InheritedSockets([], "LISTEN_PID is 1");

        var error = Assert.Throws<IOException>(() => Make(["fastcgi://fd:web"]));

        Assert.Contains("not for this process: LISTEN_PID is 1", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void Make_WithoutConfiguration_HttpIsKept()
    {
        _options.Listen(IPAddress.Loopback, 9002);

        var plan = EndpointPlan.Make(_options, ["http://*:8080"], configuration: null, hasHttpEndpoints: false, isDevelopment: false, _inherited, _logs.CreateLogger(""));

        AssertPlan(plan, ["fastcgi://127.0.0.1:9002"], ["http://*:8080"]);
    }

    private EndpointPlan Make(string[] addresses, bool hasHttpEndpoints = false, bool isDevelopment = false)
        => EndpointPlan.Make(_options, addresses, new ConfigurationBuilder().AddInMemoryCollection(_configuration).Build(), hasHttpEndpoints, isDevelopment, _inherited, _logs.CreateLogger(""));

    private void Inherit(params (int Descriptor, string? Name)[] sockets)
        => _inherited = new InheritedSockets([.. sockets.Select(static socket => new InheritedSocket(socket.Descriptor, socket.Descriptor, socket.Name))]);

    private void AssertOnlyHttp(LogLevel expected = LogLevel.Warning)
    {
        var (level, _, name, message, _) = Assert.Single(_logs.All);
        Assert.Equal((expected, "OnlyHttp"), (level, name));
        Assert.Contains(Default, message, StringComparison.Ordinal);
    }

    private static void AssertPlan(EndpointPlan plan, string[] fastCgi, string[] http)
    {
        Assert.Equal(fastCgi, plan.FastCgi.Select(static endpoint => endpoint.ToString()));
        Assert.Equal(http, plan.Http);
    }
}
