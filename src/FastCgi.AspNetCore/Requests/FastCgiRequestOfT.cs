namespace FastCgi.AspNetCore.Requests;

/// <summary>Runs the application for a request.</summary>
/// <remarks>
/// No <c>IHostContextContainer</c>: hosting would reuse the <c>HttpContext</c>, and a kept one would show another
/// client's data.
/// </remarks>
internal sealed class FastCgiRequest<TContext>(
    ServerContext server, IHttpApplication<TContext> application, FastCgiConnection connection, in RequestStart start)
    : FastCgiRequest(server, connection, in start)
    where TContext : notnull
{
    // Hosting's context is a class; a value of another host is boxed.
    private object? _context;

    public override bool Execute()
    {
        if (!TryClaim())
        {
            CompleteIfDropped();
            return true;
        }

        Task task;
        Server.Advise<RequestStream>(this, static (advisor, request) => advisor.OnStarted(request));
        try
        {
            if (!IsForApplication || !TryDecodeHeaders())
            {
                RequestCompletion.Complete(this, exception: null);
                return true;
            }

            var context = application.CreateContext(this);
            _context = context;
            // Middleware may return null.
            task = application.ProcessRequestAsync(context)
                ?? throw new InvalidOperationException("The application returned null instead of a task.");
        }
        catch (Exception exception)
        {
            RequestCompletion.Complete(this, exception);
            return true;
        }

        if (task.IsCompleted)
        {
            RequestCompletion.Complete(this, GetException(task));
            return true;
        }

        _ = AwaitAsync(task);
        return false;
    }

    public override void DisposeContext()
    {
        if (_context is null)
            return;

        try
        {
            application.DisposeContext((TContext)_context, ApplicationError);
        }
        catch (Exception failure)
        {
            Log.DisposeContextFailed(Connection.Id, TraceIdentifier, failure);
        }
    }

    private static Exception? GetException(Task task)
    {
        if (task.IsCompletedSuccessfully)
            return null;

        if (task.Exception?.InnerException is { } exception)
            return exception;

        try
        {
            // For a cancelled task, only this gives the original exception with its stack trace.
            task.GetAwaiter().GetResult();
            return null;
        }
        catch (Exception cancellation)
        {
            return cancellation;
        }
    }

    /// <summary>Continues in the application's execution context, which has its log scopes and activity.</summary>
    private async Task AwaitAsync(Task task)
    {
        await task.ConfigureAwait(
            ConfigureAwaitOptions.SuppressThrowing | ConfigureAwaitOptions.ContinueOnCapturedContext);
        ThreadRoot.Run(
            (Request: this, Task: task),
            static state => RequestCompletion.Complete(state.Request, GetException(state.Task)),
            Log);
    }
}
