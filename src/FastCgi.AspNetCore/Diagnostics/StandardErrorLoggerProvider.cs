namespace FastCgi.AspNetCore.Diagnostics;

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

        public void Log<TState>(
            LogLevel logLevel,
            EventId eventId,
            TState state,
            Exception? exception,
            Func<TState, Exception?, string> formatter)
        {
            if (!IsEnabled(logLevel))
                return;

            try
            {
                // Absent outside of requests, and for requests of Kestrel.
                if (contextAccessor.HttpContext?.Features.Get<IFastCgiRequestFeature>() is not { } request)
                    return;

                request.StandardError.WriteLine($"{logLevel}: {category}[{eventId.Id}] {formatter(state, exception)}");
                if (exception is not null)
                    request.StandardError.WriteLine(exception.ToString());
            }
            catch (ObjectDisposedException)
            {
                // The request has ended.
            }
        }
    }
}
