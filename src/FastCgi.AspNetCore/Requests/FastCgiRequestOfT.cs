using FastCgi.AspNetCore.Cgi;
using FastCgi.AspNetCore.Diagnostics;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Hosting.Server.Abstractions;

namespace FastCgi.AspNetCore.Requests;

/// <summary>
/// Runs the application for a request, and ends it. It is the container of hosting's context too, so that hosting uses that
/// context, and the <c>HttpContext</c> in it, again.
/// </summary>
internal sealed class FastCgiRequest<TContext>(ServerContext server, IHttpApplication<TContext> application)
    : FastCgiRequest(server), IHostContextContainer<TContext>
    where TContext : notnull
{
    private TContext? _context;
    private Task? _applicationTask;
    private Action? _onApplicationReturned;
    private ExecutionContext? _executionContext;
    private bool _hasContext;

    TContext? IHostContextContainer<TContext>.HostContext { get; set; }

    public override bool Execute()
    {
        // Refused, or aborted while it waited for its turn.
        if (!TryTake() || Rejection != RequestRejection.None || IsAborted)
        {
            RequestCompletion.Complete(this, exception: null);
            return true;
        }

        Task? task;
        try
        {
            if (!TryDecodeHeaders())
            {
                RequestCompletion.Complete(this, exception: null);
                return true;
            }

            _context = CreateContext();
            _hasContext = true;
            task = application.ProcessRequestAsync(_context);
        }
        catch (Exception exception)
        {
            RequestCompletion.Complete(this, exception);
            return true;
        }

        // Middleware may return no task at all.
        if (task is null || task.IsCompleted)
        {
            RequestCompletion.Complete(this, GetException(task));
            return true;
        }

        // The rest runs in the application's execution context, where its log scopes and its activity are.
        _executionContext = ExecutionContext.Capture();
        _applicationTask = task;
        task.GetAwaiter().UnsafeOnCompleted(_onApplicationReturned ??= OnApplicationReturned);
        return false;
    }

    public override void DisposeContext()
    {
        if (!_hasContext)
            return;

        try
        {
            application.DisposeContext(_context!, ApplicationError);
        }
        catch (Exception failure)
        {
            ForgetHostContext();
            Server.Log.DisposeContextFailed(Connection.Id, TraceIdentifier, failure);
        }

        _context = default;
        _hasContext = false;
    }

    private TContext CreateContext()
    {
        try
        {
            return application.CreateContext(this);
        }
        catch
        {
            ForgetHostContext();
            throw;
        }
    }

    /// <summary>
    /// What hosting did not clean up, because a log provider or a listener threw, belongs to this request: the next one gets a context of its
    /// own.
    /// </summary>
    private void ForgetHostContext() => ((IHostContextContainer<TContext>)this).HostContext = default;

    private static Exception? GetException(Task? task)
    {
        if (task is null)
            return new InvalidOperationException("The application returned null instead of a task.");

        if (task.IsCompletedSuccessfully)
            return null;

        if (task.Exception?.InnerException is { } exception)
            return exception;

        try
        {
            // Of a task that was cancelled, only this has the exception that did it, which says where.
            task.GetAwaiter().GetResult();
            return null;
        }
        catch (Exception cancellation)
        {
            return cancellation;
        }
    }

    private void OnApplicationReturned() => ThreadRoot.Run(this, static request => request.CompleteInItsContext(), Server.Log);

    private void CompleteInItsContext()
    {
        var task = _applicationTask!;
        _applicationTask = null;
        var own = ExecutionContext.Capture();
        if (_executionContext is { } context)
            ExecutionContext.Restore(context);
        _executionContext = null;
        RequestCompletion.Complete(this, GetException(task));
        if (own is not null)
            ExecutionContext.Restore(own);
    }
}
