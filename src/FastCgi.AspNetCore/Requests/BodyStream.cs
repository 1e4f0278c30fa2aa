namespace FastCgi.AspNetCore.Requests;

/// <summary>A body, which has neither a length nor a position.</summary>
internal abstract class BodyStream : Stream
{
    public override bool CanSeek => false;
    public override long Length => throw new NotSupportedException();

    public override long Position
    {
        get => throw new NotSupportedException();
        set => throw new NotSupportedException();
    }

    public override long Seek(long offset, SeekOrigin origin) => throw new NotSupportedException();

    public override void SetLength(long value) => throw new NotSupportedException();
}
