using Microsoft.Extensions.Logging.Abstractions;

namespace FastCgi.AspNetCore.SocketTests.Transport;

/// <summary>A connection is refused while the log provider blocks.</summary>
public sealed class RefusedConnectionTests
{
    [Theory, MemberData(nameof(TransportSetup.Own), MemberType = typeof(TransportSetup))]
    public async Task LogProvider_ThatBlocks_DelaysNoConnection(TransportSetup setup)
    {
        using var provider = new BlockingProvider("ConnectionRejected");
        await using var server = await TransportServer.StartAsync(
            setup,
            app =>
            {
                app.Services.GetRequiredService<ILoggerFactory>().AddProvider(provider);
                app.MapGet("/{token}", static (string token) => token);
            },
            static options => options.Limits.MaxConcurrentConnections = 1);
        using var connection = await server.ConnectAsync();
        Assert.Equal("before", await connection.GetAsync("/before"));

        using var refused = await server.ConnectAsync();
        await refused.ReadToEndAsync();
        await provider.IsBlocking.Task.Within("the log");

        try
        {
            Assert.Equal("meanwhile", await connection.GetAsync("/meanwhile"));
        }
        finally
        {
            provider.Release();
        }
    }

    private sealed class BlockingProvider(string eventName) : ILoggerProvider, ILogger
    {
        private readonly ManualResetEventSlim _released = new();

        public TaskCompletionSource IsBlocking { get; } = Waiting.Signal();

        public void Release() => _released.Set();

        public ILogger CreateLogger(string categoryName)
            => categoryName.StartsWith("FastCgi", StringComparison.Ordinal) ? this : NullLogger.Instance;

        public IDisposable? BeginScope<TState>(TState state)
            where TState : notnull => null;

        public bool IsEnabled(LogLevel logLevel) => true;

        public void Log<TState>(
            LogLevel logLevel,
            EventId eventId,
            TState state,
            Exception? exception,
            Func<TState, Exception?, string> formatter)
        {
            if (eventId.Name != eventName)
                return;

            IsBlocking.TrySetResult();
            _released.Wait();
        }

        // The factory disposes of it without waiting for callers that log.
        public void Dispose() => Release();
    }
}
