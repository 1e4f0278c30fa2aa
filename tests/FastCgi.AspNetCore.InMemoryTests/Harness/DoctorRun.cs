using FastCgi.AspNetCore.Advice;

namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>A server, its requests, and the doctor that checks it.</summary>
internal sealed class DoctorRun : IAsyncDisposable
{
    private readonly Doctor _doctor;
    private long _givenUp;

    private DoctorRun(TestServer server, bool isSpawned)
    {
        Server = server;
        Journal = new EventJournal(server.Context.Log, server.Clock);
        _doctor = new Doctor(
            server.Connections,
            server.Scheduler,
            server.Advisor,
            Journal,
            server.Clock)
        {
            IsSpawned = isSpawned,
            CountWork = () => Work,
            CountHandOvers = () => HandOvers,
            CountDescriptors = () => Descriptors,
        };
    }

    public ThreadPoolWork Work { get; set; }

    public long HandOvers { get; set; }

    public long Descriptors { get; set; }

    public TestServer Server { get; }

    public EventJournal Journal { get; }

    public IEnumerable<CollectedLog> Advice => Server.Logs.All.Where(
        static log
            => log.Level >= LogLevel.Information && !log.Category.StartsWith("Microsoft", StringComparison.Ordinal));

    public IEnumerable<CollectedLog> Reports => Server.Logs.All.Where(static log => log.Level == LogLevel.Warning);

    public static async Task<DoctorRun> StartAsync(bool isSpawned = false) => new(
        await TestServer.StartAsync(static context => context.Request.Path == "/hang" ? Task.Delay(
            Timeout.Infinite, context.RequestAborted) : AnswerAsync(context)),
        isSpawned);

    private static Task AnswerAsync(HttpContext context)
    {
        var headers = context.Request.Headers;
        if (headers.ContainsKey("Missing"))
            context.Response.StatusCode = 404;
        if (headers.ContainsKey("Challenged"))
            context.Response.Headers.WWWAuthenticate = "Bearer";
        if (headers.ContainsKey("Challenged") || headers.ContainsKey("Unauthorized"))
            context.Response.StatusCode = 401;
        return Task.CompletedTask;
    }

    /// <summary>Requests without Authorization that are answered with a challenge, and the doctor after them.</summary>
    public async Task ChallengeAsync(int count, string software)
    {
        Server.Clock.Advance(TimeSpan.FromSeconds(1));
        for (var i = 0; i < count; i++)
            await RequestAsync(keeps: true, ("SERVER_SOFTWARE", software), ("HTTP_CHALLENGED", "1"));
        Visit();
    }

    /// <summary>A request that the web server abandons.</summary>
    public async Task GiveUpAsync(double seconds, string software)
    {
        var frontEnd = Server.Connect();
        frontEnd.Send(RecordBytes.Get(uri: "/hang", more: [("SERVER_SOFTWARE", software)]));
        await Waiting.UntilAsync(() => Server.Connections.CountRequests() == 1, "the request to be under way");
        Server.Clock.Advance(TimeSpan.FromSeconds(seconds));
        frontEnd.Close();
        await Waiting.UntilAsync(() => Server.Connections.CountRequests() == 0, "the request to be given up");
        // It is counted on the thread pool.
        var givenUp = _givenUp += seconds < 1.9 ? 0 : 1;
        await Waiting.UntilAsync(() => CountGivenUp() == givenUp, "the request to be counted");
    }

    private long CountGivenUp()
    {
        var seen = 0L;
        Server.Advisor.GivenUpRequests.FindTimeout(ref seen);
        return seen;
    }

    public async Task RequestAsync(bool keeps, params (string, string)[] parameters)
    {
        var frontEnd = Server.Connect();
        (string Name, string Value)[] usual =
        [
            ("REQUEST_METHOD", "GET"), ("REQUEST_URI", "/"), ("SERVER_PROTOCOL", "HTTP/1.1"),
            ("REQUEST_SCHEME", "http"), ("SERVER_PORT", "80"), ("REMOTE_ADDR", "192.0.2.7"),
            ("HTTP_HOST", "www.example.test"),
        ];
        (string, string)[] all =
            [.. usual.Where(pair => !parameters.Any(given => given.Item1 == pair.Name)), .. parameters];
        await frontEnd.AskAsync(
            RecordBytes.Begin(1, 1, keeps), RecordBytes.ParamsStream(1, all), RecordBytes.Record(RecordBytes.Stdin, 1));
        frontEnd.Close();
    }

    /// <summary>One request per second, then a check by the doctor.</summary>
    public async Task VisitAsync(int requests, (string, string)[] parameters)
    {
        for (var i = 0; i < requests; i++)
        {
            Server.Clock.Advance(TimeSpan.FromSeconds(1));
            await RequestAsync(keeps: true, parameters);
        }

        Visit();
    }

    public void Visit()
    {
        Server.Clock.Advance(Doctor.Interval);
        Look();
    }

    public void Look() => _doctor.Check();

    public ValueTask DisposeAsync() => Server.DisposeAsync();
}
