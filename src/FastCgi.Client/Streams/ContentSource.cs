namespace FastCgi.Client.Streams;

/// <summary>A request body: a stream, from its current position, or the content of an HTTP request.</summary>
internal sealed class ContentSource(Stream? stream, HttpContent? content = null)
{
    private readonly long? _start = stream is { CanSeek: true } ? stream.Position : null;

    private bool _isBegun;

    /// <summary>Whether the body can be written from its beginning. Strings and forms are such contents.</summary>
    public bool CanWriteAgain
        => !_isBegun || _start is not null || content is ByteArrayContent or ReadOnlyMemoryContent;

    public long? Length => _start is { } start ? Math.Max(stream!.Length - start, 0) : null;

    public Task WriteToAsync(Stream destination, CancellationToken cancellationToken)
    {
        if (_isBegun && _start is { } start)
            stream!.Position = start;
        _isBegun = true;
        return stream?.CopyToAsync(destination, cancellationToken)
            ?? content!.CopyToAsync(destination, cancellationToken);
    }
}
