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

    private int _warned;

    /// <summary>Whether to tell of a header block: for each size of buffer that is needed, at most once a minute.</summary>
    /// <param name="headLength">The bytes of the header block.</param>
    /// <param name="size">The size of the buffer, in KiB.</param>
    public bool TryAcquire(int headLength, out int size)
    {
        size = 0;
        var needed = headLength + ProtocolConstants.HeaderLength;
        if (needed <= DefaultBufferSize)
            return false;

        var bytes = BitOperations.RoundUpToPowerOf2((uint)needed);
        size = (int)(bytes / 1_024);
        return _limits[BitOperations.Log2(bytes)].TryAcquire(out _);
    }

    /// <summary>Writes a line to the log: a Warning, but once, where nginx is the web server, because its buffers may be large enough already.</summary>
    public void Report(ILogger log, int headLength, int size, string? webServer)
    {
        var isNginx = WebServerKinds.Of(webServer) == WebServerKind.Nginx;
        if (isNginx && (Interlocked.Or(ref _warned, size) & size) == 0)
            log.HeadTooLargeForNginx(headLength, size);
        else
            log.LargeResponseHead(headLength, size);
    }
}
