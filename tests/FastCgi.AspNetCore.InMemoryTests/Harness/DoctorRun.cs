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

    public (long Waiting, long Completed) Work { get; set; }

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

    /// <summary>Plays words, some of them a number of times.</summary>
    /// <remarks>
    /// <c>get</c> is a request a second later. <c>kept</c> and <c>open</c> are requests on a new connection that is
    /// kept or not. <c>found</c>, <c>missing</c>, <c>challenge</c>, <c>authorized</c> and <c>unauthorized</c> are
    /// requests with such an answer. All may have a path or parameters. <c>giveup:2</c> is a request that the web
    /// server abandons after that time. The figures of the process are <c>work:10+100</c> (what waits, and what was
    /// completed since), <c>handovers</c> (further ones), <c>descriptors</c>, and <c>connect</c>. <c>visit</c> is a
    /// check by the doctor, and <c>none</c> expects no advice.
    /// </remarks>
    public async Task PlayAsync(string software, string script)
    {
        foreach (var word in script.Split(' '))
        {
            var times = word.Split('*') is [var count, _] ? int.Parse(count, CultureInfo.InvariantCulture) : 1;
            var parts = word.Split('*')[^1].Split(':', 2);
            for (var i = 0; i < times; i++)
                await ActAsync(software, parts[0], parts.ElementAtOrDefault(1) ?? "");
        }
    }

    private async Task ActAsync(string software, string word, string argument)
    {
        switch (word)
        {
            case "visit":
                Visit();
                break;
            case "none":
                Assert.Empty(Advice);
                break;
            case "giveup":
                await GiveUpAsync(double.Parse(argument, CultureInfo.InvariantCulture), software);
                break;
            case "work":
                var figures = argument.Split('+').Select(long.Parse).ToList();
                Work = (figures[0], Work.Completed + figures.ElementAtOrDefault(1));
                break;
            case "handovers":
                HandOvers += long.Parse(argument);
                break;
            case "descriptors":
                Server.GetMaxDescriptors = static () => 1_024;
                Descriptors = long.Parse(argument);
                break;
            case "connect":
                Server.Connect();
                break;
            case [.., 's'] when char.IsAsciiDigit(word[0]):
                Server.Clock.Advance(TimeSpan.FromSeconds(double.Parse(word[..^1], CultureInfo.InvariantCulture)));
                break;
            default:
                await RequestAsync(software, word, argument);
                break;
        }
    }

    private Task RequestAsync(string software, string word, string argument)
    {
        if (word == "get")
            Server.Clock.Advance(TimeSpan.FromSeconds(1));
        var parameters = argument.Split(',', StringSplitOptions.RemoveEmptyEntries)
            .Select(static text => text[0] == '/' ? ("REQUEST_URI", text) : (text.Split('=')[0], text.Split('=')[1]))
            .Append(("SERVER_SOFTWARE", software));
        var answer = word switch
        {
            "missing" => "HTTP_MISSING",
            "challenge" => "HTTP_CHALLENGED",
            "unauthorized" => "HTTP_UNAUTHORIZED",
            "authorized" => "HTTP_AUTHORIZATION",
            _ => "HTTP_FOUND",
        };
        return RequestAsync(keeps: word != "open", [.. parameters, (answer, "1")]);
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

    public void Visit()
    {
        Server.Clock.Advance(Doctor.Interval);
        Look();
    }

    public void Look() => _doctor.Check();

    public ValueTask DisposeAsync() => Server.DisposeAsync();
}
