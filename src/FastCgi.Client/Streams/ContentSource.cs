namespace FastCgi.Client.Streams;

/// <summary>A request body: a stream, from its current position, or the content of an HTTP request.</summary>
internal sealed class ContentSource(Stream? stream, HttpContent? content = null)
{
    private readonly long _start = stream is { CanSeek: true } ? stream.Position : 0;
    private bool _isBegun;

    /// <summary>Whether the body can be written from its beginning. Strings and forms are such contents.</summary>
    public bool CanWriteAgain => !_isBegun || CanSeek || content is ByteArrayContent or ReadOnlyMemoryContent;

    public long? Length => CanSeek ? Math.Max(stream!.Length - _start, 0) : null;

    // Not stored: it becomes false if the stream is closed.
    private bool CanSeek => stream is { CanSeek: true };

    public Task WriteToAsync(Stream destination, CancellationToken cancellationToken)
    {
        if (_isBegun && CanSeek)
            stream!.Position = _start;
        _isBegun = true;
        return stream?.CopyToAsync(destination, cancellationToken)
            ?? content!.CopyToAsync(destination, cancellationToken);
    }
}
