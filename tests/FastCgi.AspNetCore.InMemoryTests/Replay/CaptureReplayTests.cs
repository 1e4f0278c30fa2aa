namespace FastCgi.AspNetCore.InMemoryTests.Replay;

/// <summary>
/// The bytes of real front-ends, through the whole server: the application sees the clients' HTTP requests, except for
/// the front-end's changes in <see cref="FrontEndRules"/>.
/// </summary>
public sealed class CaptureReplayTests(ReplayServer server) : IClassFixture<ReplayServer>
{
    // Over HTTP/2, mod_fcgid ends the body of an upload without Content-Length before it begins.
    private const string EndsBeforeItBegins = "fcgid/tls__h2-post-nolen";

    public static TheoryData<string> Names => [.. CaptureLibrary.All.Select(static capture => capture.Name)];

    [Theory]
    [MemberData(nameof(Names))]
    public async Task Replay_Capture_ApplicationSeesTheHttpRequests(string name)
    {
        var capture = CaptureLibrary.Get(name);
        var expected = capture.Requests
            .Where(static request => request.Http is not null)
            .Select(request => (Captured: request, Expected: new ExpectedRequest(capture, request)))
            .ToLookup(static request => request.Expected.Rejection);
        var served = expected[RequestRejection.None].ToList();
        var rejections = expected.Where(static group => group.Key != RequestRejection.None)
            .Select(static group => $"{group.Count()} {group.Key}");

        var (seen, rejected) = await server.PlayAsync(capture.Bytes);

        Assert.Equal(rejections.Order(), rejected);
        Assert.Equal(served.Count, seen.Count);
        foreach (var ((captured, request), actual) in served.Zip(seen))
        {
            AssertSeen(captured, request, actual);
            Assert.True(actual.IsBodyWhole || captured.Incomplete || name == EndsBeforeItBegins, "The body is cut.");
        }
    }

    private static void AssertSeen(CapturedRequest captured, ExpectedRequest expected, SeenRequest seen)
    {
        Assert.Equal(
            (expected.Method, expected.Protocol, expected.IsHttps, "", expected.Path, expected.QueryString,
                expected.RawTarget, expected.RemoteAddress),
            (seen.Method, seen.Protocol, seen.IsHttps, seen.PathBase, seen.Path, seen.QueryString,
                seen.RawTarget, seen.RemoteAddress));
        if (captured.HeadersUnknown)
            return;

        Assert.Contains(seen.ContentLength, expected.ContentLengths);
        var headers = expected.GetHeaders(seen.ContentLength, seen.ServerName);
        Assert.Equal(
            headers.Order(StringComparer.OrdinalIgnoreCase),
            seen.Headers.Order(StringComparer.OrdinalIgnoreCase),
            StringComparer.OrdinalIgnoreCase);

        var body = Encoding.Latin1.GetString(seen.Body);
        if (seen.IsBodyWhole)
            Assert.Equal(expected.Body, body);
        else
            Assert.StartsWith(body, expected.Body);
    }
}
