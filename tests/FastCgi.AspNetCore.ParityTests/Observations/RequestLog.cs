using Microsoft.Extensions.Logging;

namespace FastCgi.AspNetCore.ParityTests.Observations;

/// <summary>
/// Assigns each log line to the request named in the host's logging scope. Of the servers' own messages, only warnings
/// and errors are compared, by event, because their texts differ.
/// </summary>
internal sealed class RequestLog(SeenRequests requests) : ILoggerProvider, ISupportExternalScope
{
    private const string Hosting = "Microsoft.AspNetCore.Hosting.Diagnostics";
    // Hosting gives its event no name.
    private const int RequestFinished = 2;

    private IExternalScopeProvider _scopes = new LoggerExternalScopeProvider();

    public void SetScopeProvider(IExternalScopeProvider scopeProvider) => _scopes = scopeProvider;

    public ILogger CreateLogger(string categoryName) => new Logger(this, categoryName);

    public void Dispose()
    {
    }

    private SeenRequest? FindRequest()
    {
        string? traceIdentifier = null;
        _scopes.ForEachScope(
            (scope, _) =>
            {
                if (scope is IEnumerable<KeyValuePair<string, object>> values)
                    traceIdentifier ??= values.FirstOrDefault(value => value.Key == "RequestId").Value as string;
            },
            0);
        return traceIdentifier is null ? null : requests.GetOrAdd(traceIdentifier);
    }

    private sealed class Logger(RequestLog log, string category) : ILogger
    {
        private readonly bool _isServer = category.StartsWith("Microsoft.AspNetCore.Server.", StringComparison.Ordinal)
            || category.StartsWith("FastCgi.", StringComparison.Ordinal);

        public IDisposable? BeginScope<TState>(TState state)
            where TState : notnull
            => log._scopes.Push(state);

        public bool IsEnabled(LogLevel logLevel) => logLevel >= (_isServer ? LogLevel.Warning : LogLevel.Information);

        public void Log<TState>(
            LogLevel logLevel,
            EventId eventId,
            TState state,
            Exception? exception,
            Func<TState, Exception?, string> formatter)
        {
            // Messages logged once per minute belong to no request: the tests' host has no port, unlike their web
            // servers.
            if (!IsEnabled(logLevel)
                || (_isServer && eventId.Name == "HostWithoutPort")
                || log.FindRequest() is not { } request)
                return;
            var text = _isServer ? string.Empty : formatter(state, exception);
            // Here, the exception for a synchronous call also names the option that allows it.
            var message = exception?.Message.Replace(
                " It is FastCgi:AllowSynchronousIO in the configuration, and options.AllowSynchronousIO in UseFastCgi.",
                "");
            var error = exception is null ? string.Empty : $"{exception.GetType().Name}: {message}";
            request.AddLog($"{logLevel} {(_isServer ? "server" : category)} {eventId.Name} {text} {error}".TrimEnd());
            if (category == Hosting && eventId.Id == RequestFinished)
                request.Finish();
        }
    }
}
