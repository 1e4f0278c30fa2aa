using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Hosting.Server.Features;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Hosting.Internal;
using Microsoft.Extensions.Options;

namespace FastCgi.AspNetCore.UnitTests.Hosting;

/// <summary>A server that is registered before ours, or after it.</summary>
public sealed class OtherServerTests : IDisposable
{
    private readonly CollectedLogs _logs = new();

    public void Dispose() => _logs.Dispose();

    [Theory]
    [InlineData("kestrel", "Production", "", true)]
    [InlineData("kestrel", "Production", "http://localhost", true)]
    [InlineData("kestrel", "Development", "", false)]
    [InlineData("kestrel", "Development", "http://localhost", false)]
    [InlineData("kestrel", "Development", "http://localhost fastcgi://localhost:1", true)]
    [InlineData("other", "Production", "fastcgi://localhost:1", false)]
    [InlineData("other", "Development", "", false)]
    public void LastServer_KestrelInPlaceOfFastCgi_IsReported(
        string kind, string environment, string addresses, bool isTold)
    {
        using IServer server = kind == "kestrel" ? new KestrelServer(
            Options.Create(new KestrelServerOptions()),
            new NoTransport(),
            NullLoggerFactory.Instance) : new StubServer();
        foreach (var address in addresses.Split(' ', StringSplitOptions.RemoveEmptyEntries))
            server.Features.Get<IServerAddressesFeature>()!.Addresses.Add(address);
        using var loggers = LoggerFactory.Create(builder => builder.AddProvider(_logs));
        Action<IApplicationBuilder> next = static _ => { };

        Assert.Same(next, new KestrelOverrideCheck(server, MakeEnvironment(environment), loggers).Configure(next));

        Assert.Equal(isTold ? ["KestrelTookOver"] : [], _logs.All.Select(static log => log.EventName));
    }

    [Theory, Values("type", "instance", "factory")]
    public async Task HttpServer_OfAnyRegistration_IsStartedWithItsAddressesAndStopped(string kind)
    {
        var made = new StubServer();
        using var services = new ServiceCollection().AddSingleton<List<StubServer>>().BuildServiceProvider();
        var registration = kind switch
        {
            "type" => ServiceDescriptor.Singleton<IServer, StubServer>(),
            "instance" => ServiceDescriptor.Singleton<IServer>(made),
            _ => ServiceDescriptor.Singleton<IServer>(_ => made),
        };
        var http = new PreviousServer(registration, services);
        Assert.Empty(http.Addresses);
        await http.StopAsync(default);

        await http.StartAsync(
            ["http://a", "http://b"], preferAddresses: true, new ResponseRig.NoApplication(), default);

        Assert.Equal(["http://a", "http://b"], http.Addresses);
        var server = kind == "type" ? services.GetRequiredService<List<StubServer>>().Single() : made;
        Assert.True(server.Features.Get<IServerAddressesFeature>()!.PreferHostingUrls);
        Assert.True(server.IsStarted);
        await http.StopAsync(default);
        Assert.True(server is { IsStopped: true, IsDisposed: false });
        http.Dispose();
        http.Dispose();
        Assert.True(server.IsDisposed);
        Assert.Empty(http.Addresses);
    }

    [Fact]
    public async Task HttpServer_None_ErrorNamesTheAddresses()
    {
        using var services = new ServiceCollection().BuildServiceProvider();

        var error = await Assert.ThrowsAsync<InvalidOperationException>(
            () => new PreviousServer(null, services)
                .StartAsync(["http://a", "http://b"], false, new ResponseRig.NoApplication(), default));

        Assert.StartsWith("No HTTP server is registered for http://a, http://b. Call builder.WebHost.UseKestrelCore() "
            + "before UseFastCgi", error.Message);
    }

    [Fact]
    public void HttpServer_OwnConfigurationHasEndpoints_AreFound()
    {
        Assert.False(PreviousServer.HasOwnEndpoints(null));
        Assert.False(PreviousServer.HasOwnEndpoints(Make("Kestrel:Limits:X")));
        Assert.True(PreviousServer.HasOwnEndpoints(Make("Kestrel:Endpoints:Main:Url")));

        static IConfiguration Make(string key)
            => new ConfigurationBuilder().AddInMemoryCollection([new(key, "1")]).Build();
    }

    [Fact]
    public void Registration_Twice_AddsOneServerBesideTheEarlier()
    {
        var services = new ServiceCollection();
        services.AddSingleton<IServer, StubServer>();
        var configuration = new ConfigurationBuilder().AddInMemoryCollection([new("FastCgi:PingPath", "/ping")])
            .Build();

        ServerRegistration.Add(services, configuration);
        var count = services.Count;
        ServerRegistration.Add(services, configuration);

        Assert.Equal(count, services.Count);
        using var provider = services.AddSingleton<IHostEnvironment>(MakeEnvironment("Production"))
            .BuildServiceProvider();
        var server = Assert.IsType<FastCgiServer>(provider.GetRequiredService<IServer>());
        Assert.Equal("/ping", server.Options.PingPath);
        Assert.IsType<KestrelOverrideCheck>(Assert.Single(provider.GetServices<IStartupFilter>()));
        Assert.Single(
            provider.GetServices<Microsoft.AspNetCore.Routing.MatcherPolicy>(),
            static policy => policy is RoleMatcherPolicy);
        Assert.NotNull(provider.GetService<System.Diagnostics.Metrics.IMeterFactory>());
        Assert.Equal(2, provider.GetServices<IConfigureOptions<FastCgiServerOptions>>().Count());
        Assert.IsType<KestrelSettings>(provider.GetServices<IConfigureOptions<FastCgiServerOptions>>().First());
        Assert.Same(
            provider.GetRequiredService<KestrelSettings>(),
            Assert.Single(provider.GetServices<IConfigureOptions<KestrelServerOptions>>()));
        server.Dispose();
    }

    /// <summary>
    /// A server that was registered after ours becomes the one alongside, and ours is added again, once, with its
    /// dependencies.
    /// </summary>
    [Fact]
    public void Registration_AnotherServerAfter_BecomesTheHttpServer()
    {
        var services = new ServiceCollection();
        var configuration = new ConfigurationBuilder().Build();
        ServerRegistration.Add(services, configuration);
        services.AddSingleton<IServer, StubServer>();

        ServerRegistration.Add(services, configuration);

        Assert.Equal(
            typeof(FastCgiServer),
            services.Last(static service => service.ServiceType == typeof(IServer)).ImplementationType);

        Assert.Single(services, static service => service.ServiceType == typeof(KestrelSettings));
        Assert.Single(services, static service => service.ServiceType == typeof(IStartupFilter));
    }

    [Fact]
    public void RoleMatcher_AppliesOnlyWhereThereIsAnotherRole()
    {
        var page = new Endpoint(null, new EndpointMetadataCollection(), "page");
        var authorizer = new Endpoint(
            null, new EndpointMetadataCollection(new FastCgiRoleAttribute(FastCgiRole.Authorizer)), "authorizer");
        var policy = new RoleMatcherPolicy(Options.Create(new FastCgiServerOptions()));

        Assert.False(policy.AppliesToEndpoints([page, page]));
        Assert.True(policy.AppliesToEndpoints([page, authorizer]));
        Assert.False(policy.AppliesToEndpoints([]));
        Assert.True(new RoleMatcherPolicy(Options.Create(
            new FastCgiServerOptions { Roles = { FastCgiRole.Authorizer } })).AppliesToEndpoints([page]));
        Assert.Equal(-100, policy.Order);
    }

    private static HostingEnvironment MakeEnvironment(string name)
        => new() { EnvironmentName = name, ApplicationName = "Shop" };

    private sealed class StubServer : IServer
    {
        public StubServer(List<StubServer>? all = null)
        {
            Features.Set<IServerAddressesFeature>(new ServerAddressesFeature());
            all?.Add(this);
        }

        public bool IsStarted { get; private set; }

        public bool IsStopped { get; private set; }

        public bool IsDisposed { get; private set; }

        public IFeatureCollection Features { get; } = new FeatureCollection();

        public Task StartAsync<TContext>(IHttpApplication<TContext> application, CancellationToken cancellationToken)
            where TContext : notnull
        {
            IsStarted = true;
            return Task.CompletedTask;
        }

        public Task StopAsync(CancellationToken cancellationToken)
        {
            IsStopped = true;
            return Task.CompletedTask;
        }

        public void Dispose() => IsDisposed = true;
    }

    private sealed class NoTransport : IConnectionListenerFactory
    {
        public ValueTask<IConnectionListener> BindAsync(
            EndPoint endpoint, CancellationToken cancellationToken = default) => throw new NotSupportedException();
    }
}
