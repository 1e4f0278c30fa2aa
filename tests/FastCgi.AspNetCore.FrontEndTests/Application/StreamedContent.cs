namespace FastCgi.AspNetCore.FrontEndTests.Application;

/// <summary>A request body of unknown length, which is sent chunked, and as slowly as its writer likes.</summary>
internal sealed class StreamedContent(Func<Stream, Task> write) : HttpContent
{
    protected override Task SerializeToStreamAsync(Stream stream, TransportContext? context) => write(stream);

    protected override bool TryComputeLength(out long length)
    {
        length = 0;
        return false;
    }
}
