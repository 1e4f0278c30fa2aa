using FastCgi.AspNetCore.Connections;
using FastCgi.AspNetCore.Responses;

namespace FastCgi.AspNetCore.Transport;

/// <summary>Runs the applications of requests on the thread that received them, and then sends what they wrote at once.</summary>
internal static class InlineExecution
{
    /// <summary>Executes the requests that became ready with one receive, and flushes their connection.</summary>
    /// <param name="ready">The requests. All but the last are given to the thread pool, because each may block.</param>
    /// <param name="output">The outlet of their connection.</param>
    public static void Run(ref ReadyRequests ready, RecordOutput output)
    {
        while (!ready.HasAtMostOne)
            ready.RemoveFirst().RunLater();

        if (!ready.IsEmpty)
        {
            var request = ready.RemoveFirst();
            var response = request.Response.Output;
            var generation = response.Generation;
            var context = ExecutionContext.Capture();
            response.Cork(sendsAtEnd: true);
            if (!request.Execute())
                response.Yield(generation);

            // What the application set in its execution context ends with it.
            if (context is not null)
                ExecutionContext.Restore(context);
        }

        output.FlushNow();
        foreach (var report in ready.TakeReports())
            report();
    }
}
