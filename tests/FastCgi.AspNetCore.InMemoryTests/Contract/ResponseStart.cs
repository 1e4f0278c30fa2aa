namespace FastCgi.AspNetCore.InMemoryTests.Contract;

internal static class ResponseStart
{
    /// <summary>Uses the response in the named way. All except "advance" start it.</summary>
    public static Task UseAsync(HttpResponse response, string use)
    {
        switch (use)
        {
            case "start":
                return response.StartAsync();
            case "flush stream":
                return response.Body.FlushAsync();
            case "flush writer":
                return response.BodyWriter.FlushAsync().AsTask();
            case "write":
                return response.WriteAsync("x");
            case "write nothing":
                return response.Body.WriteAsync(Array.Empty<byte>()).AsTask();
            case "complete":
                return response.CompleteAsync();
            case "complete writer":
                return response.BodyWriter.CompleteAsync().AsTask();
            default:
                response.BodyWriter.GetSpan(5)[0] = (byte)'a';
                response.BodyWriter.Advance(1);
                return Task.CompletedTask;
        }
    }
}
