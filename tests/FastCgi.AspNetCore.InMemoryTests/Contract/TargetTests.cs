namespace FastCgi.AspNetCore.InMemoryTests.Contract;

/// <summary>
/// An application sees the same path, query, raw target and method as behind Kestrel. Each difference is listed here
/// with its reason.
/// </summary>
public sealed class TargetTests
{
    private const int RandomTargets = 500;

    /// <summary>Targets in origin form, each character a byte.</summary>
    private static readonly string[] s_targets =
    [
        // Dot segments.
        "/", "//", "///", "/.", "/..", "/...", "/./", "/../", "/.a", "/a.", "/a./b", "/..a/b", "/a/.", "/a/..",
        "/a/./b", "/a/../b", "/a/b/..",
        "/a/b/../..",
        "/a/../../..", "/../../a", "/a//..", "/a//../b", "//..", "//../a", "/a/...//.", "/a/b/c/./../../g", "/%2e",
        "/%2E%2e/", "/a/%2e%2E/b",
        "/a/.%2e", "/a%2f../b", "/a/..%2fb",
        "/a/..;/b", "/.../.", "/./.", "/../..", "/a/.?x=/../y",

        // Escapes.
        "/%41%42", "/%7e", "/%2F", "/%2f", "/a%2Fb/c%2fd", "/%5C..%5c", "/%25", "/%252F", "/%25%32%46", "/%25%30%30",
        "/%", "/%%", "/%4", "/%zz",
        "/%g0", "/%0g", "/%%41", "/%4%31", "/a%20b", "/a%0ab",
        "/%0d%0a", "/%09", "/%7F", "/%23/%3f", "/a+b", "/a%2Bb",

        // UTF-8.
        "/%C3%A9", "/%c3%a9/%E2%82%AC/%F0%9F%98%80", "/%C3", "/%C3/", "/%C3%", "/%C3%A", "/%A9", "/%C3%28", "/%C0%AF",
        "/%C0%80", "/%E0%80%AF",
        "/%ED%A0%80", "/%ED%BF%BF", "/%F4%8F%BF%BF", "/%F4%90%80%80",
        "/%F8%88%80%80%80", "/%FE%FF", "/%E2%82", "/%E2%82x", "/%E2%82%41", "/%E2%82%2F", "/%C3%C3%A9", "/%EF%BB%BFa",
        "/e%CC%81", "/\xc3\xa9",
        "/%C3\xa9", "/\x80", "/?\xff", "/%7F%C2%80%DF%BF%E0%A0%80%EF%BF%BF%F0%90%80%80%F4%8F%BF%BF",

        // Null and control characters.
        "/%00", "/a%00b", "/%C3%00", "/%2500", "/?%00", "/a\0", "/\x01", "/\x7f", "/\t", "/?\x01",

        // Characters that are special elsewhere.
        "/a;b=c", "/a:b@c", "/a\\b", "/a\\..\\b", "/\"<>^`{|}", "/[a]", "/a#b", "/#", "/?#", "/~a", "/http://h/x",
        "//h/x", "/*", "/:80",

        // Queries.
        "/?", "/a?", "/a??", "/a?b", "/a?b=%2F&c=/../d", "/a?b?c", "/?a=%zz", "/%3Fa?b", "/a?+%20",
    ];

    private static readonly string[] s_tokens =
    [
        "/", "/", "/", ".", "..", "%", "2", "F", "5", "C", "3", "A", "0", "a", "b", ";", "+", "\\", "~", "%2f", "%2F",
        "%5C", "%3a", "%2e", "%2E",
        "%c3", "%a9", "%C3%A9", "%e2%82%ac", "%25", "%0a", "%f0%9f", "%98%80",
        "%ed%a0%80", "%c0%af", "%80", "%FF", "c3", "a9", "?", "#", "*", ":", "@", "%00",
    ];

    // All except HEAD, whose response cannot report what was seen.
    private static readonly string[] s_methods =
    [
        "GET", "PUT", "POST", "PATCH", "DELETE", "OPTIONS", "TRACE", "QUERY", "PROPFIND", "M-SEARCH", "get", "Post",
        "hEAD", "options",
        "A!#$%&'*+-.^_`|~9", "G@T", "G(T", "G:T", "G/T", "\xc9",
    ];

    [Fact]
    [Contract("H1", "H2", "H3", "H4", "H5", "H8")]
    public Task Map_NastyTargets_AsKestrel()
        => AssertParity(s_targets.Select(static target => (HttpMethods.Get, target)));

    [Fact]
    [Trait("Contract", "H1")]
    public Task Map_RandomTargets_AsKestrel()
    {
        var random = new Random(20_260_101);
        return AssertParity(Enumerable.Range(0, RandomTargets).Select(_ =>
            (HttpMethods.Get, "/" + string.Concat(Enumerable.Range(0, random.Next(1, 14)).Select(
                _ => s_tokens[random.Next(s_tokens.Length)])))));
    }

    [Fact]
    public Task Map_Methods_AsKestrel()
        => AssertParity([.. s_methods.Select(
            static method => (method, "/a")), ("OPTIONS", "*"), ("GET", "*"), ("POST", "*"), ("PROPFIND", "*")]);

    [Fact]
    [Trait("Contract", "H7")]
    public async Task Map_Connect_AsKestrel()
    {
        var expected = await AskKestrelAsync("CONNECT", "example.test:443", "example.test:443");

        Assert.Equal(StatusCodes.Status200OK, expected.Status);
        Assert.Equal(expected, Ask("CONNECT", "example.test:443"));
    }

    /// <summary>
    /// Only Apache passes this form on. The front-end checks its authority, so the target is seen without it.
    /// </summary>
    [Theory]
    [Trait("Contract", "H7")]
    [InlineData("http://h/", "/")]
    [InlineData("http://h", "/")]
    [InlineData("http://h?q=1", "/?q=1")]
    [InlineData("http://h/?", "/?")]
    [InlineData("http://h/a/b?c=d", "/a/b?c=d")]
    [InlineData("http://h/a%20b/%C3%A9/%zz", "/a%20b/%C3%A9/%zz")]
    [InlineData("http://h/a/./b/../c/%2e%2e/d", "/a/./b/../c/%2e%2e/d")]
    [InlineData("http://h//a//b", "//a//b")]
    [InlineData("https://u:p@h:8443/x", "/x", "h:8443")]
    public async Task Map_AbsoluteForm_AsKestrelButForTheRawTarget(string target, string rawTarget, string host = "h")
    {
        var expected = await AskKestrelAsync("GET", target, host);

        Assert.Equal(StatusCodes.Status200OK, expected.Status);
        Assert.Equal(target, expected.RawTarget);
        Assert.Equal(expected with { RawTarget = rawTarget }, Ask("GET", target));
    }

    /// <summary>Other differences, all for targets that no front-end passes on as a path.</summary>
    [Theory]

    // Kestrel takes the path of an absolute form from System.Uri, which decodes %2F and refuses what it cannot parse.
    // Here it has the
    // rules of every other path.
    [InlineData("GET", "http://h/a%2Fb", 200, "/a/b", 200, "/a%2Fb")]
    [InlineData("GET", "http://h/a#b", 200, "/a", 200, "/a#b")]
    [InlineData("GET", "http://h:99999/x", 400, "", 200, "/x")]
    [InlineData("GET", "http:///x", 400, "", 200, "/x")]

    // Kestrel knows http and https in small letters only. The front-end has taken the target, so its scheme is one that
    // it serves.
    [InlineData("GET", "HTTP://h/x", 400, "", 200, "/x")]
    [InlineData("GET", "ws://h/x", 400, "", 200, "/x")]

    // Kestrel compares the authority with Host. Here that is the front-end's task, and Host is what the front-end made
    // of both.
    [InlineData("GET", "http://other/x", 400, "", 200, "/x")]

    // Kestrel takes what does not begin with a slash for the authority of CONNECT, and so for the wrong method. Here it
    // is simply no target.
    [InlineData("GET", "x", 405, "", 400, "")]
    [InlineData("GET", "h:80", 405, "", 400, "")]
    public async Task Map_TargetsThatFrontEndsDoNotPass_DifferAsStated(
        string method, string target, int kestrelStatus, string kestrelPath, int status, string path)
    {
        var theirs = await AskKestrelAsync(method, target);
        var ours = Ask(method, target);

        Assert.Equal((kestrelStatus, kestrelPath), (theirs.Status, theirs.Path));
        Assert.Equal((status, path), (ours.Status, ours.Path));
    }

    private async Task AssertParity(IEnumerable<(string Method, string Target)> requests)
    {
        var differences = new StringBuilder();
        foreach (var (method, target) in requests)
        {
            var expected = await AskKestrelAsync(method, target);
            var actual = Ask(method, target);
            if (expected != actual)
                differences.Append(
                    CultureInfo.InvariantCulture,
                    $"{method} {Uri.EscapeDataString(target)}\n  Kestrel {expected}\n  here    {actual}\n");
        }

        Assert.Equal("", differences.ToString());
    }

    private static async Task<SeenTarget> AskKestrelAsync(string method, string target, string host = "h")
    {
        SeenTarget? seen = null;
        var oracle = await KestrelOracle.Instance;
        var answer = await oracle.AskAsync(
            Apps.Do(context =>
            {
                var request = context.Features.GetRequiredFeature<IHttpRequestFeature>();
                seen = new SeenTarget(
                    StatusCodes.Status200OK, request.Method, request.PathBase, request.Path, request.QueryString,
                    request.RawTarget);
            }),
            new TestRequest(method, target) { Host = host, Body = [] });
        return seen ?? new SeenTarget(answer.Status);
    }

    /// <summary>What an application sees of the request when a front-end passes it on unchanged.</summary>
    private static SeenTarget Ask(string method, string target)
    {
        byte[] parameters = [.. RecordBytes.Pair("REQUEST_METHOD", method), .. RecordBytes.Pair("REQUEST_URI", target)];
        var mapping = new CgiMapping(new());
        var rejection = CgiRequestMapper.Map(parameters, mapping, out var head);
        return rejection == RequestRejection.None
            ? new SeenTarget(
                StatusCodes.Status200OK, head.Method, head.PathBase, head.Path, head.QueryString,
                CgiRequestMapper.GetRawTarget(parameters, mapping))
            : new SeenTarget(rejection.GetStatusCode());
    }

    private sealed record SeenTarget(
        int Status, string Method = "", string PathBase = "", string Path = "", string QueryString = "",
        string RawTarget = "");
}
