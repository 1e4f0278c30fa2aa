using System.Threading.Channels;

namespace FastCgi.AspNetCore.Diagnostics;

/// <summary>Logs records at Trace. Lines are queued, so a slow log provider does not block a connection.</summary>
internal sealed class RecordLog
{
    public const string Category = "FastCgi.AspNetCore.Records";

    private const int MaxQueued = 10_000;

    // In characters: the parameters of a request may be long.
    private const long MaxQueuedLength = 8 * 1024 * 1024;

    private readonly ILogger _log;
    private readonly Channel<string> _lines = Channel.CreateBounded<string>(
        new BoundedChannelOptions(MaxQueued) { SingleReader = true, AllowSynchronousContinuations = false });
    private long _lostCount;
    private long _queuedLength;

    private RecordLog(ILogger log)
    {
        _log = log;
        _ = ThreadRoot.Start(WriteAsync, log);
    }

    /// <returns><see langword="null"/> unless the category is enabled.</returns>
    public static RecordLog? Create(ILoggerFactory loggers)
    {
        var log = SafeLogger.Wrap(loggers.CreateLogger(Category));
        return log.IsEnabled(LogLevel.Trace) ? new RecordLog(log) : null;
    }

    /// <summary>Queues a line. Thread-safe; may be called with a lock held.</summary>
    public void Write(string line)
    {
        if (Interlocked.Add(ref _queuedLength, line.Length) <= MaxQueuedLength && _lines.Writer.TryWrite(line))
            return;

        Interlocked.Add(ref _queuedLength, -line.Length);
        Interlocked.Increment(ref _lostCount);
    }

    public void Complete() => _lines.Writer.TryComplete();

    private async Task WriteAsync()
    {
        await foreach (var line in _lines.Reader.ReadAllAsync().ConfigureAwait(false))
        {
            if (Interlocked.Exchange(ref _lostCount, 0) is > 0 and var lost)
                _log.RecordsLost(lost);
            _log.Record(line);
            Interlocked.Add(ref _queuedLength, -line.Length);
        }
    }
}
