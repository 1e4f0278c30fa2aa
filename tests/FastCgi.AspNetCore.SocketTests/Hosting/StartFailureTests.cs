using System.Runtime.CompilerServices;

namespace FastCgi.AspNetCore.SocketTests.Hosting;

/// <summary>A failed start reports the address and the fix, and releases everything.</summary>
[Collection(Alone.Name)]
[Trait("Category", "Users")]
public sealed class StartFailureTests : HostTest
{
    private readonly Socket _other = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);

    public StartFailureTests()
    {
        _other.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        _other.Listen();
    }

    protected override void Dispose(bool isDisposing)
    {
        _other.Dispose();
        base.Dispose(isDisposing);
    }

    [Theory, EveryEngine]
    [Contract("T31")]
    public async Task Start_AddressInUse_ErrorNamesItAndTheRestIsReleased(Engine engine)
    {
        var taken = $"fastcgi://{_other.LocalEndPoint}";

        var error = await AssertStartFailsAsync(engine, Address, taken);

        Assert.Contains(taken, error.Message);
        Assert.Contains("already in use", error.Message);
        Assert.Contains("ss -ltnp", error.Message);
        await AssertCanListenAsync(engine, Address);
    }

    [Theory, EveryEngine]
    public async Task Start_HttpAddressInUse_FastCgiIsReleased(Engine engine)
    {
        var taken = $"http://{_other.LocalEndPoint}";

        var error = await AssertStartFailsAsync(engine, Address, taken);

        Assert.Contains(taken, error.Message);
        await AssertCanListenAsync(engine, Address);
    }

    [Fact]
    public async Task Start_Failed_DescriptorsAreReleased()
    {
        var taken = $"fastcgi://{_other.LocalEndPoint}";
        await AssertStartFailsAsync(Engine.Epoll, taken);
        var before = CountDescriptors();

        for (var i = 0; i < 10; i++)
            await AssertStartFailsAsync(Engine.Epoll, Address, taken);

        Assert.InRange(CountDescriptors(), 0, before + 5);
    }

    /// <summary>An application may try again and again.</summary>
    [Theory, EveryEngine]
    public async Task Start_Failed_NothingKeepsTheException(Engine engine)
    {
        var error = await FailToStartAsync(engine);

        await Waiting.UntilAsync(
            () =>
            {
                GC.Collect();
                GC.WaitForPendingFinalizers();
                return !error.IsAlive;
            },
            "the exception to be collected");
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private async Task<WeakReference> FailToStartAsync(Engine engine)
    {
        var builder = CreateBuilder("--urls", $"fastcgi://{_other.LocalEndPoint}");
        builder.WebHost.UseFastCgi();
        // The test's keeps what is logged.
        builder.Logging.ClearProviders();
        await using var app = Choose(engine, Build(builder));
        return new(await Assert.ThrowsAsync<IOException>(() => app.StartAsync().WaitAsync(Waiting.Patience)));
    }

    private async Task<IOException> AssertStartFailsAsync(Engine engine, params string[] addresses)
    {
        await using var app = Build(engine, addresses);
        return await Assert.ThrowsAsync<IOException>(() => app.StartAsync().WaitAsync(Waiting.Patience));
    }

    private async Task AssertCanListenAsync(Engine engine, string address)
    {
        await using var app = await StartAsync(engine, address);
        Assert.Equal("Hello", await FastCgiClient.GetAsync(address));
    }
}
