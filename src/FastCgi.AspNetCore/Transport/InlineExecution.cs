using FastCgi.AspNetCore.Connections;
using FastCgi.AspNetCore.Responses;

namespace FastCgi.AspNetCore.Transport;

/// <summary>Runs the applications of requests on the thread that received them, and then sends what they wrote at once.</summary>
internal static class InlineExecution
{
    [ThreadStatic]
    private static SendDeferral? t_deferral;

    /// <summary>Executes the requests that became ready with one receive, and flushes their connection.</summary>
    /// <param name="ready">The requests. All but the last are given to the thread pool, for each may block.</param>
    /// <param name="output">The outlet of their connection.</param>
    public static void Run(ref ReadyRequests ready, RecordOutput output)
    {
        while (!ready.HasAtMostOne)
            ready.RemoveFirst().QueueToThreadPool();

        if (ready.IsEmpty)
        {
            output.FlushNow();
            return;
        }

        var deferral = t_deferral ??= SendDeferralWatch.Register(new SendDeferral());
        var request = ready.RemoveFirst();
        var context = ExecutionContext.Capture();
        deferral.Begin(output);
        SendDeferralWatch.OnActivity();
        deferral.Enter(request.Response.Output, isLast: true);
        request.Execute();
        deferral.Leave();
        deferral.End();

        // What the application set in its execution context ends with it.
        if (context is not null)
            ExecutionContext.Restore(context);
    }
}
