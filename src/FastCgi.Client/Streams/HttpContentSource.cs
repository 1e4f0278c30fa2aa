namespace FastCgi.Client.Streams;

/// <summary>The body of a message of <see cref="HttpClient"/>.</summary>
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
