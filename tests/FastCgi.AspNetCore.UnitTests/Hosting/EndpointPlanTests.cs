namespace FastCgi.AspNetCore.UnitTests.Hosting;

public sealed class EndpointPlanTests : IDisposable
{
    private const string Default = "fastcgi://127.0.0.1:9000";
    private const string One = "fastcgi://127.0.0.1:9001";
    private const string Two = "fastcgi://127.0.0.1:9002";

    private readonly CollectedLogs _logs = new();
    private readonly FastCgiServerOptions _options = new();
    private readonly Dictionary<string, string?> _configuration = [];
    private InheritedSockets _inherited = new([]);

    public void Dispose() => _logs.Dispose();

    /// <summary>
    /// The endpoints in code, the host's addresses, and the configuration; the resulting endpoints of FastCGI and
    /// Kestrel, and the log.
    /// </summary>
    [Theory]
    [InlineData("", "", "", Default, "", null)]
    [InlineData(
        "",
        "fastcgi://127.0.0.1:9001 fastcgi://unix:/run/app.sock",
        "urls",
        "fastcgi://127.0.0.1:9001 fastcgi://unix:/run/app.sock",
        "",
        null)]
    [InlineData(Two, One, "", Two + " " + One, "", null)]
    [InlineData("fastcgi://unix:/run/app.sock", "", "", "fastcgi://unix:/run/app.sock", "", null)]
    [InlineData(
        "",
        "http://*:8080 fastcgi://127.0.0.1:9001 HTTPS://*:8443",
        "urls|http_ports=8080",
        One,
        "http://*:8080 HTTPS://*:8443",
        null)]
    [InlineData(
        Two, "http://*:8080 http://*:80 https://*:8443", "http_ports=8080; 80 ;|https_ports=8443", Two, "",
        "PortsDropped")]
    [InlineData(Two, "http://*:8080 http://*:8081", "http_ports=8080", Two, "http://*:8081", "PortsDropped")]
    [InlineData(
        Two, "http://*:8080 http://localhost:8080", "http_ports=8080", Two, "http://localhost:8080", "PortsDropped")]
    [InlineData(Two, "http://*:8080 https://*:8080", "http_ports=8080", Two, "https://*:8080", "PortsDropped")]
    [InlineData(Two, "http://localhost:5000", "", Two, "http://localhost:5000", null)]
    [InlineData(Two, "http://*:8080", "none", Two, "http://*:8080", null)]
    [InlineData("", "http://localhost:5000", "urls", "", "http://localhost:5000", "OnlyHttp")]
    [InlineData("", "http://*:8080", "http_ports=8080", "", "http://*:8080", "OnlyHttp")]
    [InlineData("", "", "Kestrel", "", "", "OnlyHttp")]
    [InlineData("", One, "Kestrel", One, "", null)]
    [InlineData("", "", "inherited=0;3=web;4=web", "fastcgi://fd:0 fastcgi://fd:3 fastcgi://fd:4", "", null)]
    [InlineData(Two, One, "inherited=3=web", Two + " " + One + " fastcgi://fd:3", "", null)]
    [InlineData("", "http://*:8080", "inherited=0|http_ports=8080", "fastcgi://fd:0", "", "PortsDropped")]
    [InlineData("", "", "refused", Default, "", "InheritedSocketsIgnored")]
    [Contract("T6")]
    public void Make_OfCodeAddressesAndConfiguration_IsThePlan(
        string code, string addresses, string configuration, string fastCgi, string http, string? logged)
    {
        foreach (var address in Split(code))
            _options.Listen(address);
        foreach (var setting in configuration.Split('|'))
        {
            var (name, value) = (setting.Split('=')[0], setting[(setting.IndexOf('=') + 1)..]);
            if (name == "inherited")
                Inherit([.. value.Split(';').Select(static socket => socket.Split('=')).Select(
                    static parts => (int.Parse(parts[0]), parts.ElementAtOrDefault(1)))]);
            else if (name == "refused")
                _inherited = new InheritedSockets([], "LISTEN_PID is 1");
            else
                _configuration[name] = name == "urls" ? addresses.Replace(' ', ';') : value;
        }

        var plan = configuration == "none"
            ? EndpointPlan.Make(
                _options, Split(addresses), configuration: null, hasHttpEndpoints: false, isDevelopment: true,
                _inherited, _logs.CreateLogger(""))
            : Make(Split(addresses), hasHttpEndpoints: configuration == "Kestrel");

        AssertPlan(plan, Split(fastCgi), Split(http));
        Assert.Equal(logged is null ? [] : [logged], _logs.All.Select(static log => log.EventName));
        var dropped = Split(addresses).Except(Split(http)).Where(
            static address => !address.StartsWith("fastcgi:", StringComparison.Ordinal));
        var text = logged switch
        {
            "PortsDropped" => string.Join(", ", dropped),
            "OnlyHttp" => Default,
            _ => "LISTEN_PID is 1",
        };
        Assert.All(_logs.All, log => Assert.Contains(text, log.Message));
    }

    [Theory]
    [InlineData(true, LogLevel.Information)]
    [InlineData(false, LogLevel.Warning)]
    public void Make_OnlyHttp_IsAWarningOutsideDevelopment(bool isDevelopment, LogLevel level)
    {
        _configuration["urls"] = "http://localhost:5000";

        AssertPlan(Make(["http://localhost:5000"], isDevelopment: isDevelopment), [], ["http://localhost:5000"]);

        Assert.Equal(("OnlyHttp", level), Assert.Single(_logs.All.Select(static log => (log.EventName, log.Level))));
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

    private static string[] Split(string text) => text.Split(' ', StringSplitOptions.RemoveEmptyEntries);

    private EndpointPlan Make(string[] addresses, bool hasHttpEndpoints = false, bool isDevelopment = false)
        => EndpointPlan.Make(
            _options,
            addresses,
            new ConfigurationBuilder().AddInMemoryCollection(_configuration).Build(),
            hasHttpEndpoints,
            isDevelopment,
            _inherited,
            _logs.CreateLogger(""));

    private void Inherit(params (int Descriptor, string? Name)[] sockets)
        => _inherited = new InheritedSockets([.. sockets.Select(
            static socket => new InheritedSocket(socket.Descriptor, socket.Descriptor, socket.Name))]);

    private static void AssertPlan(EndpointPlan plan, string[] fastCgi, string[] http)
    {
        Assert.Equal(fastCgi, plan.FastCgi.Select(static endpoint => endpoint.ToString()));
        Assert.Equal(http, plan.Http);
    }
}
