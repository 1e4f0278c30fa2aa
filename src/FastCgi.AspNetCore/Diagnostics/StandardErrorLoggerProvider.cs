using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Logging;

namespace FastCgi.AspNetCore.Diagnostics;

/// <summary>Logs the errors of a request to the error log of the web server that sent it.</summary>
[ProviderAlias("FastCgiStandardError")]
internal sealed class StandardErrorLoggerProvider(IHttpContextAccessor contextAccessor) : ILoggerProvider
{
    public ILogger CreateLogger(string categoryName) => new StandardErrorLogger(contextAccessor, categoryName);

    public void Dispose()
    {
    }

    private sealed class StandardErrorLogger(IHttpContextAccessor contextAccessor, string category) : ILogger
    {
        public IDisposable? BeginScope<TState>(TState state)
            where TState : notnull
            => null;

        public bool IsEnabled(LogLevel logLevel) => logLevel is LogLevel.Error or LogLevel.Critical;

        public void Log<TState>(LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter)
        {
            if (!IsEnabled(logLevel))
                return;

            try
            {
                // Outside of a request, and for one that came to Kestrel, there is nobody to tell.
                if (contextAccessor.HttpContext?.Features.Get<IFastCgiRequestFeature>() is not { } request)
                    return;

                request.StandardError.WriteLine($"{logLevel}: {category}[{eventId.Id}] {formatter(state, exception)}");
                if (exception is not null)
                    request.StandardError.WriteLine(exception.ToString());
            }
            catch (ObjectDisposedException)
            {
                // The request has ended meanwhile.
            }
        }
    }
}
