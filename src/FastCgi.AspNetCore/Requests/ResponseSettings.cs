using System.Text;

namespace FastCgi.AspNetCore.Requests;

/// <summary>What all responses of one server share.</summary>
internal sealed class ResponseSettings
{
    public bool AllowSynchronousIO { get; init; }

    /// <summary>The bytes that may be queued before a write waits.</summary>
    public long MaxBufferSize { get; init; } = long.MaxValue;

    /// <summary>The bytes that may be written to the web server's error log for a request; <see langword="null"/> for any number.</summary>
    public long? MaxStandardErrorSize { get; init; }

    public Func<string, Encoding?>? EncodingSelector { get; init; }

    /// <summary>Which files the web server sends itself, if any.</summary>
    public SendFileOffload? SendFileOffload { get; init; }

    /// <summary>How many descriptors the process can have; <see langword="null"/> where that does not matter.</summary>
    public Func<long>? GetMaxDescriptors { get; init; }

    /// <summary>
    /// Has a response uncorked in a few milliseconds, and returns whether it will be; if not, nothing may be held. <see langword="null"/> if it never is.
    /// </summary>
    public Func<ResponseOutput, bool>? TrySetDeadline { get; init; }
}
