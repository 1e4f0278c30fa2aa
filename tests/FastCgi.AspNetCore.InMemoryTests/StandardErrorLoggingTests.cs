namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>The errors of a request in the error log of the web server.</summary>
public class StandardErrorLoggingTests
{
    [Theory, Values(true, false)]
    public async Task Log_Error_IsOnStderrIfAskedFor(bool isOn)
    {
        string[] lines =
        [
            "Error: Shop[7] Order 12 failed\n", "System.InvalidOperationException: broken\n",
            "Critical: Shop[7] on\n", "fire\\x1B[0m\n", "",
        ];

        Assert.Equal(isOn ? lines : [], await RunAsync(isOn, static context =>
        {
            var logger = LoggerOf(context);
            Log(logger, LogLevel.Warning, "not an error");
            Log(logger, LogLevel.Error, "Order 12 failed", new InvalidOperationException("broken"));
            Log(logger, LogLevel.Critical, "on\nfire\u001b[0m");
            return Apps.Hello(context);
        }));
    }

    [Theory, Values(false, true)]
    public async Task Log_UnhandledException_IsOnStderr(bool isLater)
    {
        var lines = await RunAsync(isOn: true, async _ =>
        {
            if (isLater)
                await Task.Yield();
            throw new InvalidOperationException("broken");
        });

        Assert.Contains(
            lines, static line => line.StartsWith("Error: FastCgi.AspNetCore[40] ", StringComparison.Ordinal));
        Assert.Contains("System.InvalidOperationException: broken\n", lines);
    }

    /// <summary>Work that outlives its request has no web server to report to.</summary>
    [Fact]
    public async Task Log_AfterTheRequest_IsDropped()
    {
        var go = Waiting.Signal();
        Task? work = null;
        await RunAsync(
            isOn: true,
            context =>
            {
                var logger = LoggerOf(context);
                work = Task.Run(async () =>
                {
                    await go.Task;
                    Log(logger, LogLevel.Error, "too late");
                });
                return Apps.Hello(context);
            },
            async frontEnd =>
            {
                go.SetResult();
                await work!.Within("the work after the request");
                Assert.Empty(frontEnd.ReadAvailable());
            });
    }

    private static void Log(ILogger logger, LogLevel level, string message, Exception? exception = null)
        => logger.Log(level, new EventId(7), message, exception, static (text, _) => text);

    private static ILogger LoggerOf(HttpContext context)
        => context.RequestServices.GetRequiredService<ILoggerFactory>().CreateLogger("Shop");

    private static async Task<List<string>> RunAsync(
        bool isOn, RequestDelegate application, Func<FrontEnd, Task>? afterwards = null)
    {
        await using var server = await TestServer.StartAsync(
            app => app.Run(application),
            services: services => services.AddLogging(logging =>
            {
                if (isOn)
                    logging.AddFastCgiStandardError();
            }));
        // The errors of these tests have no name, but for the server's.
        server.Logs.Expected.UnionWith(["", "ApplicationError"]);
        var frontEnd = server.Connect();
        frontEnd.Send(RecordBytes.Get());

        var records = await frontEnd.ReadRequestAsync();
        if (afterwards is not null)
            await afterwards(frontEnd);
        return Stderr.Read(records);
    }
}
