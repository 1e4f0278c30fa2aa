namespace FastCgi.Client.Tests.Harness;

/// <summary>A stream of unknown length.</summary>
internal sealed class OneWayStream(byte[] content) : MemoryStream(content)
{
    public override bool CanSeek => false;
}
