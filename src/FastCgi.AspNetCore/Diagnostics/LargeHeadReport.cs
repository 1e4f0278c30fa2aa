using System.Numerics;
using FastCgi.AspNetCore.Protocol;
using Microsoft.Extensions.Logging;

namespace FastCgi.AspNetCore.Diagnostics;

/// <summary>Tells what nginx needs for header blocks that do not fit its default buffer: the 502 itself does not say why.</summary>
internal sealed class LargeHeadReport
{
    /// <summary>A page: <c>fastcgi_buffer_size</c> if nobody says otherwise. The record header counts.</summary>
    private const int DefaultBufferSize = 4_096;

    private int _reportedSizes;

    /// <summary>Writes one line to the log for each size of buffer that is needed.</summary>
    public void Report(ILogger log, int headLength)
    {
        var needed = headLength + ProtocolConstants.HeaderLength;
        if (needed <= DefaultBufferSize)
            return;

        // A power of two is its own bit in the set of those that were reported.
        var size = (int)BitOperations.RoundUpToPowerOf2((uint)needed);
        if ((Interlocked.Or(ref _reportedSizes, size) & size) == 0)
            log.LargeResponseHead(headLength, size / 1_024);
    }
}
