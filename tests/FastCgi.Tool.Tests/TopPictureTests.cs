using FastCgi.AspNetCore.Status;
using FastCgi.Tool.Commands.Top;
using FastCgi.Tool.Terminal;

namespace FastCgi.Tool.Tests;

/// <summary>The output of <c>top</c> if there is little space, or none.</summary>
public sealed class TopPictureTests
{
    private const string LongState = "waiting for the web server to accept the response";

    [Theory, Values(80, 120)]
    public void Lines_FitAndHaveRoomForThePath(int width)
    {
        var lines = Draw(width, 24, requests: 3);

        Assert.All(lines, line => Assert.InRange(line.Length, 0, width));
        // Of the path, half of the narrow terminal at the least.
        Assert.Contains(
            lines,
            static line => line.StartsWith("1 min  waiting for the web…  ", StringComparison.Ordinal)
                && line.Contains("GET /" + new string('p', 30), StringComparison.Ordinal));
    }

    [Fact]
    public void Lines_WithoutATerminal_AreWhole()
        => Assert.Contains(
            Draw(int.MaxValue, int.MaxValue, requests: 1),
            static line => line.Contains(LongState, StringComparison.Ordinal)
                && line.EndsWith("GET /" + new string('p', 200), StringComparison.Ordinal));

    [Theory]
    [InlineData(40, 1, 6)]
    [InlineData(40, 5, 4)]
    [InlineData(40, 12, 2)]
    public void Findings_TakeHalfOfTheTerminalOrLittle(int height, int findings, int lines)
        => Assert.Equal(findings * lines, Draw(80, height, 0, findings).Count(static line => line.Contains(
            "word", StringComparison.Ordinal)));

    [Fact]
    public void Requests_WithoutRoom_AreCounted()
    {
        var lines = Draw(80, 24, requests: 100);

        Assert.Equal(23, lines.Count);
        Assert.Matches("^… [0-9]+ more lines$", lines[^1]);
    }

    [Theory]
    [InlineData(0.000002, "p50 2 µs,")]
    [InlineData(0.0123, "p50 12.3 ms,")]
    [InlineData(1.5, "p50 1.5 s,")]
    [InlineData(null, "p50 -,")]
    public void Latency_EachMagnitude_HasAFittingUnit(double? seconds, string text)
        => Assert.Contains(Draw(80, 24, 0, median: seconds), line => line.Contains(text, StringComparison.Ordinal));

    private static IReadOnlyList<string> Draw(
        int width, int height, int requests, int findings = 0, double? median = null)
    {
        var status = new StatusSnapshot
        {
            Application = "shop",
            Version = "1",
            Runtime = "",
            System = "",
            ProcessId = 1,
            StartedAt = default,
            Uptime = 7_300,
            TakenAt = default,
            State = "running",
            Engine = "epoll",
            Loops = 1,
            Scheduling = "Auto",
            Endpoints = ["fastcgi://unix:/run/shop/app.sock"],
            Connections = new ConnectionTotals(1, 1_234_567, 0, 0, 0, 0, new Dictionary<string, long>()),
            Requests = new RequestTotals(
                requests, 0, 1_234_567, new Dictionary<string, long>(), new Dictionary<string, long>()),
            Recent = new RecentStatus(60, 12_345.6, 0, 0, 0, 0, median, null, null, null),
            Resources = new ResourceStatus(0, 0, 0, 0, 100, 0, 1, 0, 0, 1, 0),
            Limits = [],
            Recommendations = [.. Enumerable.Range(0, findings).Select(static i => new FindingStatus(
                i, "Finding", "Warning", string.Concat(Enumerable.Repeat("word ", 200)), 1, default))],
            Errors = [],
            FrontEnds = [],
            OpenConnections = [],
            ActiveRequests = [.. Enumerable.Range(0, requests).Select(static i => new RequestStatus(
                "c", i, 61, "GET", "/" + new string('p', 200), "127.0.0.1", LongState, 1_024, 0))],
        };
        return new TopPicture(
            status,
            TopRates.Create(null, status),
            TopOrder.Age,
            new ToolConsole(TextWriter.Null, TextWriter.Null, Stream.Null),
            width).Draw(height);
    }
}
