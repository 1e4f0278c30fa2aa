namespace FastCgi.AspNetCore.Requests;

/// <remarks>Without <c>IHostContextContainer</c>: a reused context could show another client's data.</remarks>
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
            return true;

        if (IsDetached)
        {
            // Aborted meanwhile.
            Complete(exception: null);
            return true;
        }

        Exception? failure = null;
        // A log provider that blocks must not delay a ping.
        if (HasSymptom && !IsPing)
            Server.Advise(this, static (advisor, request) => advisor.CheckRequest(request));
        try
        {
            if (IsForApplication && TryDecodeHeaders())
            {
                var context = application.CreateContext(this);
                _context = context;
                // Middleware may return null.
                var task = application.ProcessRequestAsync(context)
                    ?? throw new InvalidOperationException("The application returned null instead of a task.");
                if (!task.IsCompleted)
                {
                    _ = AwaitAsync(task);
                    return false;
                }

                task.GetAwaiter().GetResult();
            }
        }
        catch (Exception exception)
        {
            failure = exception;
        }

        Complete(failure);
        return true;
    }

    protected override void DisposeContext()
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

    /// <summary>Continues in the application's execution context, which has its log scopes and activity.</summary>
    private async Task AwaitAsync(Task task)
    {
        Exception? failure = null;
        try
        {
            await task;
        }
        catch (Exception exception)
        {
            failure = exception;
        }

        ThreadRoot.Run(
            (Request: this, failure),
            static state => state.Request.Complete(state.failure),
            Log);
    }
}
