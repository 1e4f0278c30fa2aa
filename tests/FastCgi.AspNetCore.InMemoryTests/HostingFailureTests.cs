using System.Diagnostics.Metrics;
using FastCgi.AspNetCore.Testing;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Abstractions;
using Xunit;

namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>Hosting fails before or behind the application, because a log provider or a listener throws, and has not cleaned up.</summary>
public sealed class HostingFailureTests
{
    // More than rest in the pool, so that each object is used again.
    private const int Enough = 30;

    [Theory]
    [InlineData("Request starting")]
    [InlineData("Request finished")]
    public async Task LogProvider_ThatThrowsInHosting_NextRequestHasNothingOfTheContext(string message)
    {
        using var listener = new MeterListener();
        listener.InstrumentPublished = static (instrument, listener) =>
        {
            if (instrument.Meter.Name == "Microsoft.AspNetCore.Hosting")
                listener.EnableMeasurementEvents(instrument);
        };
        listener.Start();
        var provider = new OddProvider(message);
        await using var server = await TestServer.StartAsync(
            static app => app.Run(static context =>
            {
                var tags = context.Features.GetRequiredFeature<IHttpMetricsTagsFeature>().Tags;
                var seen = string.Join(' ', tags.Select(static tag => tag.Value));
                tags.Add(new("target", context.Request.Path));
                return context.Response.WriteAsync($"[{seen}]");
            }),
            services: services => services.AddSingleton<ILoggerProvider>(provider));
        server.Logs.Expected.UnionWith(["ApplicationError", "DisposeContextFailed"]);
        var frontEnd = server.Connect();

        for (var i = 0; i < 2 * Enough; i++)
        {
            provider.IsThrowing = i < Enough;
            frontEnd.Send(RecordBytes.Get(uri: $"/{i}"));
            var response = await frontEnd.ReadResponseAsync();
            Assert.True(response.Text == "[]" || response.Status == 500, response.Text);
            Assert.True(response.Status == 200 || provider.IsThrowing);
        }
    }

    private sealed class OddProvider(string message) : ILoggerProvider, ILogger
    {
        public bool IsThrowing { get; set; }

        public ILogger CreateLogger(string categoryName)
            => categoryName.StartsWith("Microsoft.AspNetCore.Hosting", StringComparison.Ordinal) ? this : NullLogger.Instance;

        public IDisposable? BeginScope<TState>(TState state)
            where TState : notnull => null;

        public bool IsEnabled(LogLevel logLevel) => true;

        public void Log<TState>(LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter)
        {
            if (IsThrowing && formatter(state, exception).StartsWith(message, StringComparison.Ordinal))
                throw new InvalidOperationException("on purpose");
        }

        public void Dispose()
        {
        }
    }
}
