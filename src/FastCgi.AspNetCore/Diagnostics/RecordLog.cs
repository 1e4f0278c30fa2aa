using System.Threading.Channels;
using Microsoft.Extensions.Logging;

namespace FastCgi.AspNetCore.Diagnostics;

/// <summary>
/// The log of records, for whoever looks for what a web server sends: its category has to be switched on, at the level Trace. Lines go
/// through a queue, so that no log provider holds up a connection; of what comes faster than it can be written, a count is left.
/// </summary>
internal sealed class RecordLog
{
    /// <summary>The category.</summary>
    public const string Category = "FastCgi.AspNetCore.Records";

    private const int MaxQueued = 10_000;

    // In characters: the params of a request may be long.
    private const long MaxQueuedLength = 8 * 1024 * 1024;

    private readonly ILogger _log;
    private readonly Channel<string> _lines = Channel.CreateBounded<string>(new BoundedChannelOptions(MaxQueued) { SingleReader = true, AllowSynchronousContinuations = false });
    private long _lostCount;
    private long _queuedLength;

    private RecordLog(ILogger log)
    {
        _log = log;
        _ = ThreadRoot.Start(WriteAsync, log);
    }

    /// <summary>Makes the log.</summary>
    /// <returns><see langword="null"/> unless the category is switched on.</returns>
    public static RecordLog? Create(ILoggerFactory loggers)
    {
        var log = SafeLogger.Wrap(loggers.CreateLogger(Category));
        return log.IsEnabled(LogLevel.Trace) ? new RecordLog(log) : null;
    }

    /// <summary>Writes a line, before long. Any thread may call it, with a lock held too.</summary>
    public void Write(string line)
    {
        if (Interlocked.Add(ref _queuedLength, line.Length) <= MaxQueuedLength && _lines.Writer.TryWrite(line))
            return;

        Interlocked.Add(ref _queuedLength, -line.Length);
        Interlocked.Increment(ref _lostCount);
    }

    /// <summary>Ends the log behind what is queued.</summary>
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
