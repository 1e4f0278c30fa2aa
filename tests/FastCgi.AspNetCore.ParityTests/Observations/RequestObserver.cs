namespace FastCgi.AspNetCore.ParityTests.Observations;

/// <summary>
/// The first middleware: it records what the server passes to the application, and the state that the application
/// leaves.
/// </summary>
internal sealed class RequestObserver(RequestDelegate next, SeenRequests requests)
{
    public async Task InvokeAsync(HttpContext context)
    {
        var request = requests.GetOrAdd(context.TraceIdentifier);
        request.TraceIdentifier = context.TraceIdentifier;
        request.ConnectionId = context.Connection.Id;
        // An inner request, which the application sends with the headers of the outer one, comes second.
        if (context.Request.Headers[SeenRequests.Header] is [{ } name] && requests.Find(name) is null)
            requests.SetName(name, request);
        request.AtStart = ContextDump.Create(context);

        context.Response.OnStarting(() => Note(request, "OnStarting"));
        context.Response.OnCompleted(() => Note(request, "OnCompleted"));
        context.RequestAborted.Register(() => request.Abort());
        try
        {
            await next(context);
        }
        catch (Exception exception)
        {
            request.AddEvent($"threw {exception.GetType().Name}: {exception.Message}");
            throw;
        }
        finally
        {
            request.AtEnd = ContextDump.Create(context);
        }
    }

    private static Task Note(SeenRequest request, string name)
    {
        request.AddEvent(name);
        return Task.CompletedTask;
    }
}
