namespace FastCgi.AspNetCore.UnitTests.Status;

/// <summary>A snapshot of which every value is another one.</summary>
internal static class Snapshots
{
    private static readonly DateTimeOffset s_start = new(2026, 1, 2, 3, 4, 5, TimeSpan.Zero);

    public static StatusSnapshot Full { get; } = new()
    {
        Application = "Shop",
        Version = "1.2.3",
        Runtime = ".NET 10",
        System = "Linux",
        ProcessId = 42,
        StartedAt = s_start,
        Uptime = 1.5,
        TakenAt = s_start.AddSeconds(1.5),
        State = "running",
        Engine = "epoll",
        Loops = 2,
        Scheduling = "Inline",
        Endpoints = ["fastcgi://127.0.0.1:9000"],
        Connections = new ConnectionTotals(
            11,
            12,
            13,
            14,
            15_000_000_000,
            16,
            new Dictionary<string, long> { ["BadRecord"] = 17, ["WrongProtocol"] = 18 }),
        Requests = new RequestTotals(
            21,
            22,
            23,
            new Dictionary<string, long> { ["400 MissingMethod"] = 24 },
            new Dictionary<string, long> { ["ByWebServer"] = 25 }),
        Recent = new RecentStatus(60, 1.1, 1.2, 1.3, 1.4, 31, 0.25, 0.5, null, 4),
        Resources = new ResourceStatus(41, 42, 43, 4.4, 45, 46, 47, 48, 49, 50, 51),
        Limits = [new LimitStatus("MaxConcurrentRequests", "100", 21, 0.21)],
        Recommendations = [new JournalEntry(61, "HostNotPassed", LogLevel.Warning, "Add <a> & \"b\".", 62, s_start)],
        Errors = [new JournalEntry(63, "LoopFailed", LogLevel.Error, "It failed.", 64, s_start)],
        FrontEnds =
        [
            new FrontEnd("nginx", s_start)
            {
                Samples = 71,
                KeepConnection = 72,
                WithScheme = 73,
                WithoutScheme = 74,
                WithTarget = 75,
                WithoutHost = 76,
                WithClient = 77,
                WithUser = 79,
                PassesAuthorization = true,
                Challenges = 80,
            },
        ],
        OtherFrontEndSamples = 78,
        OpenConnections = [new ConnectionDescription("c1", "unix", 8, "active", 82, 83, 84, 85)],
        ActiveRequests = [new RequestDescription("c1", 1, 91, 9.1, "GET", "/", null, "in the application", 92, 93)],
    };
}
