namespace FastCgi.AspNetCore.InMemoryTests.Oracle;

/// <summary>The result of a request on one server: response, observations, logs and metrics.</summary>
internal sealed record ServerAnswer(
    Outcome Outcome, IReadOnlyList<string> Observed, IReadOnlyList<string> ApplicationErrors, string Measurement)
{
    /// <summary>The log line at the end of a request, without its duration; found by a unique target.</summary>
    public string RequestLog { get; init; } = string.Empty;

    /// <summary>The change in the number of active requests in the server's meter.</summary>
    public long ActiveRequests { get; init; }
}

/// <summary>An application that is run by Kestrel and by this server. It notes what it sees.</summary>
internal delegate Task ObservedApplication(HttpContext context, Observations observations);

/// <summary>Lets Kestrel and this server answer the same request with the same application, and compares.</summary>
internal static class Parity
{
    // Headers that each server adds for its own protocol or for the framing of the body.
    private static readonly string[] s_ownHeaders =
        ["Date", "Server", "Connection", "Transfer-Encoding", "Content-Length"];

    /// <summary>Runs an application on both servers and asserts that there is no difference.</summary>
    public static async Task<ServerAnswer> AssertAsync(ObservedApplication application, TestRequest? request = null)
    {
        var (kestrel, ours) = await RunAsync(application, request);
        AssertSameLines(kestrel.Observed, ours.Observed);
        AssertSameOutcome(kestrel.Outcome, ours.Outcome);
        AssertSameLines(kestrel.ApplicationErrors, ours.ApplicationErrors);
        Assert.Equal(kestrel.Measurement, ours.Measurement);
        return ours;
    }

    public static Task<ServerAnswer> AssertAsync(
        Action<HttpContext, Observations> application, TestRequest? request = null)
        => AssertAsync(Do(application), request);

    /// <summary>Runs an application on both servers, for a test of a known difference.</summary>
    public static async Task<(ServerAnswer Kestrel, ServerAnswer Ours)> RunAsync(
        ObservedApplication application, TestRequest? request = null)
    {
        request ??= new TestRequest();
        return (await AskKestrelAsync(application, request), await AskOursAsync(application, request));
    }

    public static Task<(ServerAnswer Kestrel, ServerAnswer Ours)> RunAsync(
        Action<HttpContext, Observations> application) => RunAsync(Do(application));

    public static void AssertSameOutcome(Outcome kestrel, Outcome ours)
    {
        Assert.Equal((kestrel.Status, kestrel.IsCut), (ours.Status, ours.IsCut));
        Assert.Equal(kestrel.Text, ours.Text);
        Assert.Equal(Comparable(kestrel), Comparable(ours));

        // Where Kestrel has to chunk, this server may know the length.
        if (kestrel["Transfer-Encoding"] is null)
            Assert.Equal(kestrel["Content-Length"], ours["Content-Length"]);
    }

    private static ObservedApplication Do(Action<HttpContext, Observations> application) => (context, observations) =>
    {
        application(context, observations);
        return Task.CompletedTask;
    };

    // Assert.Equal would shorten the lines.
    private static void AssertSameLines(IReadOnlyList<string> kestrel, IReadOnlyList<string> ours)
    {
        if (!kestrel.SequenceEqual(ours))
            Assert.Fail($"Kestrel:\n{string.Join('\n', kestrel)}\n\nThis server:\n{string.Join('\n', ours)}");
    }

    private static IEnumerable<KeyValuePair<string, string>> Comparable(Outcome outcome)
        => outcome.Headers.Where(static header => !s_ownHeaders.Contains(header.Key)).OrderBy(
            static header => header.Key, StringComparer.Ordinal);

    private static async Task<ServerAnswer> AskKestrelAsync(ObservedApplication application, TestRequest request)
    {
        var oracle = await KestrelOracle.Instance;
        return await AskAsync(
            application, oracle.Services, oracle.Logs, request.Target, run => oracle.AskAsync(run, request));
    }

    private static async Task<ServerAnswer> AskOursAsync(ObservedApplication application, TestRequest request)
    {
        RequestDelegate? run = null;
        await using var frontEnd = await TestServer.ConnectAsync(context => run!(context), expects: "ApplicationError");
        return await AskAsync(
            application, frontEnd.Server.Services, frontEnd.Server.Logs, request.Target, async observed =>
            {
                run = observed;
                frontEnd.Send(request.ToRecords());
                if (request.GoneWhen is null)
                    return await frontEnd.ReadOutcomeAsync();

                await request.GoneWhen.Within("the client's moment to go");
                frontEnd.Close();
                return new Outcome(0, [], [], IsCut: true);
            });
    }

    private static async Task<ServerAnswer> AskAsync(
        ObservedApplication application, IServiceProvider services, CollectedLogs logs, string target,
        Func<RequestDelegate, Task<Outcome>> ask)
    {
        using var measurements = new RequestMeasurements(services);
        var observations = new Observations();
        var id = Guid.NewGuid().ToString();
        var trace = string.Empty;
        var outcome = await ask(context =>
        {
            RequestMeasurements.Mark(context, id);
            trace = context.TraceIdentifier;
            return application(context, observations);
        });
        var measurement = await measurements.WaitAsync(id);
        var errors = logs.All
            .Where(log => log.EventName == "ApplicationError" && log.Message.Contains($"\"{trace}\""))
            .Select(static log => Observations.Describe(log.Exception!));
        return new ServerAnswer(outcome, observations.Lines, [.. errors], measurement)
        {
            RequestLog = GetRequestLog(logs, target),
            ActiveRequests = measurements.ActiveRequests,
        };
    }

    private static string GetRequestLog(CollectedLogs logs, string target)
    {
        var line = logs.All.LastOrDefault(log => log.Message.StartsWith(
            "Request finished",
            StringComparison.Ordinal) && log.Message.Contains(target))?.Message;
        return line is null ? string.Empty : line[..line.LastIndexOf(' ')];
    }
}
