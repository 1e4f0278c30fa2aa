namespace FastCgi.AspNetCore.InMemoryTests.Replay;

/// <summary>What the application should see of a captured request, by the rules of the front-end.</summary>
internal sealed class ExpectedRequest
{
    /// <summary>The only byte in the captured headers that is not UTF-8.</summary>
    private const char Latin1 = '\xe9';

    /// <summary>The paths of the targets that differ from their path.</summary>
    private static readonly Dictionary<string, string> s_decodedPaths = new()
    {
        ["/a%20b/%E2%82%AC/%c3%a9/x%2By"] = "/a b/€/é/x+y",
        ["/a%2Fb/c%2fd"] = "/a%2Fb/c%2fd",
        ["/d/%252F/%2525"] = "/d/%2F/%25",
        ["/r/%3F%23%25%3B%5C%41/x"] = "/r/?#%;\\A/x",
        ["/a/./b/../c/%2e%2e/d/..."] = "/a/d/...",
        ["/h2/a%20b%2Fc"] = "/h2/a b%2Fc",
    };

    private readonly Capture _capture;
    private readonly FrontEndRules _rules;
    private readonly CapturedRequest _captured;
    private readonly HttpRequestText _http;

    public ExpectedRequest(Capture capture, CapturedRequest captured)
    {
        _capture = capture;
        _rules = new FrontEndRules(capture);
        _captured = captured;
        _http = new HttpRequestText(captured.Http!);
        (Path, QueryString) = Method == "CONNECT" ? ("", "") : SplitTarget(RawTarget);
    }

    public string Method => _http.Method;

    public string Protocol => _http.Protocol;

    public bool IsHttps => _capture.IsTls;

    public string Path { get; }

    public string QueryString { get; }

    public string RemoteAddress => _rules.RemoteAddress;

    public string Body => _captured.Subrequest ? "" : _captured.Body;

    /// <summary>Non-ASCII bytes in the target and invalid UTF-8 in a header are refused, as by Kestrel.</summary>
    public RequestRejection Rejection
    {
        get
        {
            if (_http.Target.Any(static c => c > 0x7f))
                return RequestRejection.InvalidTarget;
            if (_http.Headers.Any(static header => header.Value.Contains(Latin1)))
                return RequestRejection.InvalidHeaderValue;
            return RequestRejection.None;
        }
    }

    /// <summary>The target in origin form.</summary>
    public string RawTarget
    {
        get
        {
            var authority = _http.Target.IndexOf("://", StringComparison.Ordinal);
            return authority < 0 ? _http.Target : _http.Target[_http.Target.IndexOf('/', authority + 3)..];
        }
    }

    public IReadOnlyList<long?> ContentLengths
    {
        get
        {
            if (_captured.Subrequest)
                return [null];
            // The client's own 0 looks like one that the front-end adds, so a GET has none.
            if (_captured.Body.Length == 0
                && Method is "GET" or "HEAD" or "DELETE" or "OPTIONS" or "TRACE" or "CONNECT")
                return [null];
            if (_http["Content-Length"] is { } told)
                return [long.Parse(told, CultureInfo.InvariantCulture)];
            if (_http["Transfer-Encoding"] is null && _captured.Body.Length == 0)
                return [_rules.LengthOfNoBody];
            return _rules.StreamsBodies ? [null, _captured.Body.Length] : [_captured.Body.Length];
        }
    }

    /// <summary>The headers, one text each, with a bar between separate values.</summary>
    /// <param name="madeUpHost">The replacement for a Host header that the client did not send.</param>
    public IEnumerable<string> GetHeaders(long? contentLength, string? madeUpHost)
    {
        // By the name that the client sent: the front-end joins only headers with the same name.
        var passed = _http.Headers.GroupBy(static header => header.Name, StringComparer.OrdinalIgnoreCase)
            .Select(
                group => group.Select(
                    header => _rules.Pass(header.Name, header.Value)).OfType<(string Name, string Value)>().ToList())
            .Where(group => group.Count > 0 && !IsOfTheServer(group[0].Name, contentLength))
            .Select(
                group => (
                    group[0].Name,
                    Value: string.Join(GetSeparator(group[0].Name), group.Select(static header => header.Value))))
            .ToList();
        passed.AddRange(GetOwnHeaders(contentLength, madeUpHost));

        return passed.GroupBy(
            static header => header.Name, static header => header.Value, StringComparer.OrdinalIgnoreCase)
            .Select(static group => $"{group.Key}: {string.Join(" | ", group)}");
    }

    private string GetSeparator(string name)
    {
        if (name.Equals("Cookie", StringComparison.OrdinalIgnoreCase))
            return _rules.GetCookieSeparator(Protocol);
        return _rules.JoinsRepeatedHeaders ? ", " : " | ";
    }

    /// <summary>
    /// The server reports the known length. It then hides Transfer-Encoding, because the body has been de-chunked.
    /// </summary>
    private static bool IsOfTheServer(string name, long? contentLength)
        => name is "Host" or "Content-Length" || (name == "Transfer-Encoding" && contentLength is not null);

    private IEnumerable<(string Name, string Value)> GetOwnHeaders(long? contentLength, string? madeUpHost)
    {
        if (contentLength is not null)
            yield return ("Content-Length", contentLength.Value.ToString(CultureInfo.InvariantCulture));

        var host = (_rules.TakesHostOfTarget ? HostOfTarget : null) ?? _http["Host"] ?? madeUpHost;
        if (host is not null)
            yield return ("Host", host);

        if (_rules.Added is { } added)
            yield return added;
    }

    private string? HostOfTarget
    {
        get
        {
            if (Method == "CONNECT")
                return _http.Target;
            return _http.Target.Contains("://") ? _http.Target.Split('/')[2] : null;
        }
    }

    private static (string Path, string Query) SplitTarget(string target)
    {
        var query = target.IndexOf('?', StringComparison.Ordinal);
        var path = query < 0 ? target : target[..query];
        var prefix = path.StartsWith("/app/", StringComparison.Ordinal) ? "/app" : "";
        return (
            prefix + s_decodedPaths.GetValueOrDefault(path[prefix.Length..], path[prefix.Length..]),
            query < 0 ? "" : target[query..]);
    }
}
