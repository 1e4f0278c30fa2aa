namespace FastCgi.AspNetCore.SocketTests.Transport;

/// <summary>Handlers and a log provider that misuse the API in places where threads race.</summary>
internal static class Misbehaviour
{
    private static readonly string[] s_paths = ["throw", "cut", "abort", "write", "complete", "log", "sleep"];

    /// <summary>Any of the handlers.</summary>
    public static string Path(Random random, string token) => $"/odd/{s_paths[random.Next(s_paths.Length)]}/{token}";

    public static void Map(WebApplication app)
        => app.Map(
            "/odd/{what}/{token}",
            static (string what, string token, HttpContext context) => Run(context, what, token));

    private static Task Run(HttpContext context, string what, string token) => what switch
    {
        "throw" => throw new InvalidOperationException(token),
        "cut" => CutAsync(context),
        "abort" => AbortElsewhereAsync(context),
        "write" => WriteElsewhereAsync(context),
        "complete" => CompleteAsync(context),
        "log" => LogAsync(context, token),
        _ => Sleep(context, token),
    };

    private static async Task CutAsync(HttpContext context)
    {
        await context.Response.WriteAsync("begun");
        await context.Response.Body.FlushAsync();
        throw new InvalidOperationException("cut");
    }

    /// <summary>
    /// Aborts from another thread while the handler writes. Not later: the framework reuses the
    /// <see cref="HttpContext"/> for the next request, with Kestrel too.
    /// </summary>
    private static async Task AbortElsewhereAsync(HttpContext context)
    {
        var abort = Task.Run(context.Abort);
        await context.Response.WriteAsync(new string('x', 20_000));
        await abort;
    }

    /// <summary>Writes from another thread to the end, and past it.</summary>
    private static async Task WriteElsewhereAsync(HttpContext context)
    {
        var body = context.Response.Body;
        var writes = Task.Run(async () =>
        {
            for (var i = 0; i < 20; i++)
                await body.WriteAsync("elsewhere "u8.ToArray());
        });
        await context.Response.CompleteAsync();
        await writes.ContinueWith(static write => write.Exception, TaskScheduler.Default);
    }

    private static async Task CompleteAsync(HttpContext context)
    {
        await context.Response.WriteAsync(new string('x', 100_000));
        // Not awaited: the handler returns before it completes.
        _ = context.Response.CompleteAsync();
    }

    private static Task LogAsync(HttpContext context, string token)
    {
        context.RequestServices.GetRequiredService<ILoggerFactory>()
            .CreateLogger("odd")
            .Log(LogLevel.Warning, default, token, null, static (token, _) => token);
        return Task.CompletedTask;
    }

    private static Task Sleep(HttpContext context, string token)
    {
        Thread.Sleep(5);
        return context.Response.WriteAsync(token);
    }

    /// <summary>Throws for each third message.</summary>
    public static ActingLogs CreateThrowingLogs()
    {
        var count = 0;
        return new ActingLogs(_ =>
        {
            if (Interlocked.Increment(ref count) % 3 == 0)
                throw new InvalidOperationException("A log provider fails.");
        });
    }
}
