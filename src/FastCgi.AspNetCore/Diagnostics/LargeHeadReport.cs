using System.Numerics;
using FastCgi.AspNetCore.Protocol;
using Microsoft.Extensions.Logging;

namespace FastCgi.AspNetCore.Diagnostics;

/// <summary>Tells what nginx needs for header blocks that do not fit its default buffer: the 502 itself does not say why.</summary>
internal sealed class LargeHeadReport(TimeProvider time)
{
    /// <summary>A page: <c>fastcgi_buffer_size</c> if nobody says otherwise. The record header counts.</summary>
    private const int DefaultBufferSize = 4_096;

    // One for each size, which is a power of two.
    private readonly LogRateLimit[] _limits = [.. Enumerable.Range(0, 32).Select(_ => new LogRateLimit(time))];

    /// <summary>Writes a line to the log for each size of buffer that is needed, at most once a minute.</summary>
    public void Report(ILogger log, int headLength)
    {
        var needed = headLength + ProtocolConstants.HeaderLength;
        if (needed <= DefaultBufferSize)
            return;

        var size = (int)BitOperations.RoundUpToPowerOf2((uint)needed);
        if (log.IsEnabled(LogLevel.Debug) && _limits[BitOperations.Log2((uint)size)].TryAcquire(out _))
            log.LargeResponseHead(headLength, size / 1_024);
    }
}
