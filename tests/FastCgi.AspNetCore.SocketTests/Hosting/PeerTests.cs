namespace FastCgi.AspNetCore.SocketTests.Hosting;

/// <summary>Which peers can connect.</summary>
[Collection(Alone.Name)]
[Trait("Category", "Users")]
public sealed class PeerTests : HostTest
{
    private const string Variable = "FCGI_WEB_SERVER_ADDRS";
    private const string Loopback = "fastcgi://127.0.0.1:0";

    [Theory, EveryEngine]
    public async Task Connect_AllowedAddressOrUser_IsServed(Engine engine)
    {
        await AssertServedAsync(engine, Loopback, static listen => listen.AllowedAddresses.Add("127.0.0.0/8"));
        await AssertServedAsync(engine, Address, static listen => listen.AllowedUsers.Add(Environment.UserName));
    }

    [Theory, EveryEngine]
    public Task Connect_OtherAddress_IsClosedAtOnce(Engine engine)
        => AssertRefusedAsync(
            engine,
            Loopback,
            static listen => listen.AllowedAddresses.Add("192.0.2.1"),
            "most recently from 127.0.0.1:",
            ") because the endpoint's AllowedAddresses");

    [Theory, EveryEngine]
    public Task Connect_OtherUserAndGroup_IsClosedAtOnce(Engine engine)
        => AssertRefusedAsync(
            engine,
            Address,
            static listen =>
            {
                listen.AllowedUsers.Add("1234567");
                listen.AllowedGroups.Add("1234568");
            },
            $" of the user {Environment.UserName} and the group ",
            "AllowedUsers or AllowedGroups");

    [Theory, EveryEngine]
    public async Task Connect_AddressNotInTheVariable_IsClosedAtOnce(Engine engine)
    {
        Environment.SetEnvironmentVariable(Variable, "192.0.2.1");
        try
        {
            await AssertRefusedAsync(engine, Loopback, static _ => { });
        }
        finally
        {
            Environment.SetEnvironmentVariable(Variable, null);
        }
    }

    [Theory]
    [InlineData("fastcgi://0.0.0.0:0", "", 1)]
    [InlineData("fastcgi://0.0.0.0:0", "127.0.0.1", 0)]
    [InlineData("fastcgi://127.0.0.1:0", "", 0)]
    public async Task Start_OnTheNetwork_WarnsUnlessAddressesAreNamed(string address, string allowed, int warnings)
    {
        await using var app = Build(Engine.Epoll, address, listen =>
        {
            if (allowed.Length > 0)
                listen.AllowedAddresses.Add(allowed);
        });
        await app.StartAsync();

        Assert.Equal(warnings, Logs.All.Count(static log => log.EventName == "OpenToEverybody"));
    }

    [LinuxTheory]
    [InlineData(int.MaxValue, 1)]
    [InlineData(1, 0)]
    public async Task Start_BacklogReducedBySystem_LogsWarning(int backlog, int warnings)
    {
        await using var app = Build(
            Engine.Epoll, "fastcgi://127.0.0.1:0", listen => listen.Backlog = backlog);
        await app.StartAsync();

        Assert.Equal(warnings, Logs.All.Count(static log => log.EventName == "BacklogCut"));
    }

    private async Task AssertServedAsync(
        Engine engine, string address, Action<FastCgiListenOptions> configure)
    {
        await using var app = Build(engine, address, configure);
        await app.StartAsync();

        Assert.Equal("Hello", await FastCgiClient.GetAsync(app.Urls.Single()));
    }

    private async Task AssertRefusedAsync(
        Engine engine, string address, Action<FastCgiListenOptions> configure, params string[] texts)
    {
        await using var app = Build(engine, address, configure);
        await app.StartAsync();

        var error = await Record.ExceptionAsync(() => FastCgiClient.GetAsync(app.Urls.Single()));
        Assert.True(error is IOException or SocketException, $"{error}");
        var warning = await Logs.SingleAsync("PeerRefused");
        Assert.Equal(LogLevel.Warning, warning.Level);
        Assert.All(texts, text => Assert.Contains(text, warning.Message));
    }

    private WebApplication Build(Engine engine, string address, Action<FastCgiListenOptions> configure)
    {
        var builder = CreateBuilder();
        builder.Logging.SetMinimumLevel(LogLevel.Debug);
        builder.WebHost.UseFastCgi(options => options.Listen(address, configure));
        return Choose(engine, Build(builder));
    }
}
