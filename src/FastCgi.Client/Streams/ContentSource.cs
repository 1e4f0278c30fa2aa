namespace FastCgi.Client.Streams;

internal abstract class ContentSource
{
    /// <summary>Whether <see cref="WriteToAsync"/> can write the body from its beginning.</summary>
    public abstract bool CanWriteAgain { get; }

    public virtual long? Length => null;

    public abstract Task WriteToAsync(Stream destination, CancellationToken cancellationToken);
}

/// <summary>A stream, from its current position.</summary>
internal sealed class StreamSource(Stream stream) : ContentSource
{
    private readonly long _start = stream.CanSeek ? stream.Position : -1;

    private bool _isBegun;

    public override bool CanWriteAgain => stream.CanSeek || !_isBegun;

    public override long? Length => stream.CanSeek ? Math.Max(stream.Length - _start, 0) : null;

    public override Task WriteToAsync(Stream destination, CancellationToken cancellationToken)
    {
        if (_isBegun && stream.CanSeek)
            stream.Position = _start;
        _isBegun = true;
        return stream.CopyToAsync(destination, cancellationToken);
    }
}

internal sealed class HttpContentSource(HttpContent content) : ContentSource
{
    private bool _isBegun;

    // These contents, and those derived from them (strings, forms), can be written repeatedly.
    public override bool CanWriteAgain => !_isBegun || content is ByteArrayContent or ReadOnlyMemoryContent;

    public override Task WriteToAsync(Stream destination, CancellationToken cancellationToken)
    {
        _isBegun = true;
        return content.CopyToAsync(destination, cancellationToken);
    }
}
