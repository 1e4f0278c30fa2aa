namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>How a client leaves.</summary>
public enum Leaving
{
    AbortRequest,
    ConnectionLost,
    Reset,
}

/// <summary>A request that has arrived and waits until the test executes it.</summary>
internal sealed class WaitingRequest
{
    private WaitingRequest(FrontEnd frontEnd, FastCgiRequest request) => (FrontEnd, Request) = (frontEnd, request);

    public FrontEnd FrontEnd { get; }

    public FastCgiRequest Request { get; }

    public static WaitingRequest Receive(TestServer server, params byte[] bytes)
    {
        var frontEnd = server.Connect();
        var ready = frontEnd.Receive(bytes);
        return new WaitingRequest(frontEnd, ready.RemoveFirst());
    }

    /// <summary>Sends a request with a query of 2,001 characters, a long header, a trace id and a body.</summary>
    /// <param name="length">The declared length, if it is another.</param>
    public static WaitingRequest Receive(TestServer server, byte[] content, int? length = null)
    {
        var declared = $"{length ?? content.Length}";
        var parameters = RecordBytes.RequestParams(
            "POST", "/?" + new string('q', 2_000), ("CONTENT_LENGTH", declared),
            ("HTTP_X_LONG", new string('x', 1_000)), ("HTTP_X_TRACE", "trace"),
            ("SERVER_SOFTWARE", "nginx/1.28"));
        return Receive(
            server,
            [.. RecordBytes.Begin(), .. RecordBytes.ParamsStream(1, parameters), .. RecordBytes.Record(
                RecordBytes.Stdin,
                1,
                content)]);
    }

    public void Leave(Leaving how)
    {
        if (how == Leaving.AbortRequest)
            FrontEnd.Send(RecordBytes.Abort());
        else if (how == Leaving.ConnectionLost)
            FrontEnd.Transport.Connection.OnClosed(new IOException("The connection is gone."));
        else
            FrontEnd.Transport.Connection.Fail();
    }
}
