using FastCgi.AspNetCore.UnitTests.Cgi;
using FastCgi.AspNetCore.UnitTests.Requests;

namespace FastCgi.AspNetCore.UnitTests.Captures;

/// <summary>
/// The bytes of real front-ends, read and mapped, give the application the HTTP request that the client sent, but for what
/// <see cref="FrontEndRules"/> says of the front-end.
/// </summary>
public sealed class CaptureReplayTests
{
    public static TheoryData<string> Names => [.. CaptureLibrary.All.Select(static capture => capture.Name)];

    [Theory]
    [MemberData(nameof(Names))]
    public void Replay_Capture_ApplicationSeesTheHttpRequest(string name)
    {
        var capture = CaptureLibrary.Get(name);
        var received = ReceivedRequest.ReadAll(capture.ReadBytes());
        Assert.Equal(capture.Requests.Select(static request => request.Id), received.Select(static request => request.Id));

        foreach (var (captured, request) in capture.Requests.Zip(received))
        {
            if (captured.Http is not null)
                AssertSeen(new ExpectedRequest(capture, captured), captured, request);
        }
    }

    [Fact]
    public void Captures_Library_IsWhole()
    {
        Assert.Equal(CaptureLibrary.FrontEnds.Count, CaptureLibrary.All.Select(static capture => capture.FrontEnd).Distinct().Count());
        Assert.True(CaptureLibrary.All.Count > 1_000);
        Assert.All(CaptureLibrary.All, static capture => Assert.Contains(capture.Requests, static request => request.Http is not null));
    }

    private static void AssertSeen(ExpectedRequest expected, CapturedRequest captured, ReceivedRequest received)
    {
        var mapping = new CgiMapping();
        var rejection = CgiRequestMapper.Map(received.Parameters, mapping, out var head);
        Assert.Equal(expected.Rejection, rejection);
        if (rejection != RequestRejection.None)
            return;

        Assert.Equal(expected.Method, head.Method);
        Assert.Equal(expected.Protocol, head.Protocol);
        Assert.Equal(expected.IsHttps, head.IsHttps);
        Assert.Equal(("", expected.Path, expected.QueryString), (head.PathBase, head.Path, head.QueryString));
        Assert.Equal(expected.RawTarget, CgiParameters.GetRawTarget(received.Parameters, mapping));

        var parameters = RequestHeadersBuilder.Read(received.Parameters, mapping);
        Assert.Equal(expected.RemoteAddress, new RequestAddresses(parameters).RemoteAddress?.ToString());
        if (captured.HeadersUnknown)
            return;

        Assert.Contains(head.ContentLength, expected.ContentLengths);
        var headers = RequestHeadersBuilder.Build(received.Parameters).Select(static header => $"{header.Key}: {string.Join(" | ", header.Value.ToArray())}");
        Assert.Equal(Sort(expected.GetHeaders(head.ContentLength, GetServerName(parameters))), Sort(headers), StringComparer.OrdinalIgnoreCase);
        AssertBody(expected, captured, head.ContentLength, received.Body);
    }

    private static void AssertBody(ExpectedRequest expected, CapturedRequest captured, long? contentLength, byte[] body)
    {
        var text = Encoding.Latin1.GetString(body);
        if (captured.Incomplete)
            Assert.StartsWith(text, expected.Body, StringComparison.Ordinal);
        else
            Assert.Equal(expected.Body, text);

        Assert.True(captured.Incomplete || contentLength is null || contentLength == body.Length);
    }

    private static IEnumerable<string> Sort(IEnumerable<string> headers) => headers.Order(StringComparer.OrdinalIgnoreCase);

    private static string? GetServerName(RequestParameters parameters)
    {
        var (name, port) = (parameters.GetVariable("SERVER_NAME"), parameters.GetVariable("SERVER_PORT"));
        if (string.IsNullOrEmpty(name))
            return null;
        return port == "80" ? name : $"{name}:{port}";
    }
}
