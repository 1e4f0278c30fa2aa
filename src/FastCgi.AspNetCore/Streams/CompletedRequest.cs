namespace FastCgi.AspNetCore.Streams;

/// <summary>A request that has left its connection: the work that remains without the locks.</summary>
/// <param name="Connection">The connection; <see langword="null"/> if the request had already left it.</param>
/// <param name="Chain">What to send now.</param>
/// <param name="ClosesTransport">Whether to end the connection then.</param>
internal readonly record struct CompletedRequest(
    FastCgiConnection? Connection, BufferBlock? Chain, bool ClosesTransport)
{
    public void Send()
    {
        if (Chain is not null)
            Connection!.Output.SendCollected(Chain);
        if (ClosesTransport)
            Connection!.CloseTransport();
    }
}
