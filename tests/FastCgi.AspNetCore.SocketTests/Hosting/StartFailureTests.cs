using System.Net;
using System.Net.Sockets;

namespace FastCgi.AspNetCore.SocketTests.Hosting;

/// <summary>A start that fails says where and what to do, and leaves nothing bound behind.</summary>
[Collection(Alone.Name)]
[Trait("Category", "Users")]
public sealed class StartFailureTests : IDisposable
{
    private readonly ScratchFolder _folder = new();
    private readonly Socket _other = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);

    public StartFailureTests()
    {
        _other.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        _other.Listen();
    }

    private string UnixAddress => $"fastcgi://unix:{_folder.GetPath("app.sock")}";

    public void Dispose()
    {
        _other.Dispose();
        _folder.Dispose();
    }

    [Theory, EveryEngine]
    [Trait("Contract", "T31")]
    public async Task Start_AddressInUse_ErrorNamesItAndTheRestIsReleased(FastCgiTransportEngine engine)
    {
        var taken = $"fastcgi://{_other.LocalEndPoint}";

        var error = await AssertStartFailsAsync<IOException>(engine, UnixAddress, taken);

        Assert.Contains(taken, error.Message, StringComparison.Ordinal);
        Assert.Contains("already in use", error.Message, StringComparison.Ordinal);
        Assert.Contains("ss -ltnp", error.Message, StringComparison.Ordinal);
        await AssertCanListenAsync(engine, UnixAddress);
    }

    [Theory, EveryEngine]
    public async Task Start_HttpAddressInUse_FastCgiIsReleased(FastCgiTransportEngine engine)
    {
        var taken = $"http://{_other.LocalEndPoint}";

        var error = await AssertStartFailsAsync<IOException>(engine, UnixAddress, taken);

        Assert.Contains(taken, error.Message, StringComparison.Ordinal);
        await AssertCanListenAsync(engine, UnixAddress);
    }

    [Theory, EveryEngine]
    [Trait("Contract", "T24")]
    public async Task Start_SocketOfAProcessThatRuns_IsNotTakenAway(FastCgiTransportEngine engine)
    {
        using var running = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        running.Bind(new UnixDomainSocketEndPoint(_folder.GetPath("app.sock")));
        running.Listen();

        var error = await AssertStartFailsAsync<IOException>(engine, UnixAddress);

        Assert.Contains(UnixAddress, error.Message, StringComparison.Ordinal);
        Assert.Contains("already in use", error.Message, StringComparison.Ordinal);
        Assert.True(File.Exists(_folder.GetPath("app.sock")));
    }

    [Fact]
    public async Task Start_NoFolderForTheSocket_ErrorSaysWhatToDo()
    {
        var address = $"fastcgi://unix:{_folder.GetPath("absent/app.sock")}";

        var error = await AssertStartFailsAsync<IOException>(FastCgiTransportEngine.Auto, address);

        Assert.Contains(address, error.Message, StringComparison.Ordinal);
        Assert.Contains("the folder of the socket does not exist", error.Message, StringComparison.Ordinal);
        Assert.Contains("RuntimeDirectory", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Start_AddressOfAnotherMachine_ErrorSaysWhatToDo()
    {
        var error = await AssertStartFailsAsync<IOException>(FastCgiTransportEngine.Auto, "fastcgi://192.0.2.1:9000");

        Assert.Contains("fastcgi://192.0.2.1:9000", error.Message, StringComparison.Ordinal);
        Assert.Contains("fastcgi://*:9000", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Start_Failed_DescriptorsAreGivenBack()
    {
        var taken = $"fastcgi://{_other.LocalEndPoint}";
        await AssertStartFailsAsync<IOException>(FastCgiTransportEngine.Auto, taken);
        var before = Descriptors.Count();

        for (var i = 0; i < 10; i++)
            await AssertStartFailsAsync<IOException>(FastCgiTransportEngine.Auto, UnixAddress, taken);

        Assert.InRange(Descriptors.Count(), 0, before + 5);
    }

    private static async Task<TException> AssertStartFailsAsync<TException>(FastCgiTransportEngine engine, params string[] addresses)
        where TException : Exception
    {
        await using var app = Build(engine, addresses);
        return await Assert.ThrowsAsync<TException>(() => app.StartAsync().WaitAsync(Waiting.Patience));
    }

    private static async Task AssertCanListenAsync(FastCgiTransportEngine engine, string address)
    {
        await using var app = Build(engine, address);
        await app.StartAsync();
        Assert.Equal("Hello", await FastCgiClient.GetAsync(address));
    }

    private static WebApplication Build(FastCgiTransportEngine engine, params string[] addresses)
    {
        var builder = WebApplication.CreateBuilder(["--hostBuilder:reloadConfigOnChange=false"]);
        builder.Logging.ClearProviders();
        builder.WebHost.UseFastCgi(options => options.Transport.Engine = engine);
        builder.WebHost.UseUrls(addresses);
        var app = builder.Build();
        app.MapGet("/", static () => "Hello");
        return app;
    }
}
