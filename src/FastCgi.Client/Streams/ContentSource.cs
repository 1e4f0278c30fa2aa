namespace FastCgi.Client.Streams;

/// <summary>What is sent as the content of a stream of records.</summary>
internal abstract class ContentSource
{
    /// <summary>Whether <see cref="WriteToAsync"/> gives the same once more.</summary>
    public abstract bool CanWriteAgain { get; }

    public virtual long? Length => null;

    public abstract Task WriteToAsync(Stream destination, CancellationToken cancellationToken);
}

/// <summary>A stream, from where it stands.</summary>
internal sealed class StreamSource(Stream stream) : ContentSource
{
    // Few enough bytes that requests which share a connection take fair turns.
    private const int PieceSize = 32 * 1024;

    private readonly long _start = stream.CanSeek ? stream.Position : -1;

    private bool _isBegun;

    public override bool CanWriteAgain => stream.CanSeek || !_isBegun;

    public override long? Length => stream.CanSeek ? Math.Max(stream.Length - _start, 0) : null;

    public override Task WriteToAsync(Stream destination, CancellationToken cancellationToken)
    {
        if (_isBegun && stream.CanSeek)
            stream.Position = _start;
        _isBegun = true;
        return stream.CopyToAsync(destination, PieceSize, cancellationToken);
    }
}

internal sealed class HttpContentSource(HttpContent content) : ContentSource
{
    private bool _isBegun;

    // Of these, and what is derived from them (strings, forms), it is known that they can be written twice.
    public override bool CanWriteAgain => !_isBegun || content is ByteArrayContent or ReadOnlyMemoryContent;

    public override Task WriteToAsync(Stream destination, CancellationToken cancellationToken)
    {
        _isBegun = true;
        return content.CopyToAsync(destination, cancellationToken);
    }
}
