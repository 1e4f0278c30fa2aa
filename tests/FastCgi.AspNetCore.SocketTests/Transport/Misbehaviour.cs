using Microsoft.AspNetCore.Http.Features;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;

namespace FastCgi.AspNetCore.SocketTests.Transport;

/// <summary>Handlers, middleware and a log provider that do what they must not.</summary>
internal static class Misbehaviour
{
    private static readonly string[] s_paths = ["throw", "cut", "null", "abort", "write", "complete", "dispose", "headers", "log", "sleep", "callbacks"];

    /// <summary>Any of the handlers.</summary>
    public static string Path(Random random, string token) => $"/odd/{s_paths[random.Next(s_paths.Length)]}/{token}";

    public static void Map(WebApplication app)
    {
        // Without a route, so that the task of "null" is what the server gets.
        var routed = app as IApplicationBuilder;
        routed.Use(static (context, next) => (context.Request.Path.Value ?? "").Split('/') is ["", "odd", var what, var token] ? Run(context, what, token) : next(context));
    }

    private static Task Run(HttpContext context, string what, string token) => what switch
    {
        "throw" => throw new InvalidOperationException(token),
        "null" => null!,
        "cut" => CutAsync(context),
        "abort" => AbortElsewhereAsync(context),
        "write" => WriteElsewhereAsync(context),
        "complete" => CompleteAsync(context),
        "dispose" => DisposeAsync(context),
        "headers" => ReplaceHeadersAsync(context),
        "log" => LogAsync(context, token),
        "sleep" => Sleep(context, token),
        _ => ThrowingCallbacksAsync(context, token),
    };

    private static async Task CutAsync(HttpContext context)
    {
        await context.Response.WriteAsync("begun");
        await context.Response.Body.FlushAsync();
        throw new InvalidOperationException("cut");
    }

    /// <summary>
    /// Aborts from another thread while the handler writes. Not later: the framework uses its <see cref="HttpContext"/> again, for
    /// whoever comes next, behind Kestrel too.
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
        // Not awaited: the handler returns before it has ended.
        _ = context.Response.CompleteAsync();
    }

    private static async Task DisposeAsync(HttpContext context)
    {
        await context.Response.Body.DisposeAsync();
        await context.Request.Body.DisposeAsync();
        await context.Response.BodyWriter.CompleteAsync();
        await context.Request.BodyReader.CompleteAsync();
    }

    private static Task ReplaceHeadersAsync(HttpContext context)
    {
        context.Features.Get<IHttpResponseFeature>()!.Headers = new HeaderDictionary { [""] = "no name" };
        return context.Response.WriteAsync("unwritable");
    }

    private static Task LogAsync(HttpContext context, string token)
    {
        context.RequestServices.GetRequiredService<ILoggerFactory>().CreateLogger("odd").Log(LogLevel.Warning, default, token, null, static (token, _) => token);
        return Task.CompletedTask;
    }

    private static Task Sleep(HttpContext context, string token)
    {
        Thread.Sleep(5);
        return context.Response.WriteAsync(token);
    }

    private static Task ThrowingCallbacksAsync(HttpContext context, string token)
    {
        context.Response.OnStarting(static () => throw new InvalidOperationException("starting"));
        context.Response.OnCompleted(static () => throw new InvalidOperationException("completed"));
        context.RequestAborted.Register(static () => throw new InvalidOperationException("aborted"));
        return context.Response.WriteAsync(token);
    }

    /// <summary>Throws for each third message.</summary>
    public sealed class ThrowingLogs : ILoggerProvider, ILogger
    {
        private int _count;

        public ILogger CreateLogger(string categoryName) => this;

        public IDisposable? BeginScope<TState>(TState state)
            where TState : notnull => null;

        public bool IsEnabled(LogLevel logLevel) => true;

        public void Log<TState>(LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter)
        {
            if (Interlocked.Increment(ref _count) % 3 == 0)
                throw new InvalidOperationException("A log provider fails.");
        }

        public void Dispose()
        {
        }
    }
}
