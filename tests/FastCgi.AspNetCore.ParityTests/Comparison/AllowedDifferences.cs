namespace FastCgi.AspNetCore.ParityTests.Comparison;

/// <summary>All allowed differences, with their reasons. <c>tests/parity.md</c> has the table.</summary>
internal static class AllowedDifferences
{
    private const string Any = "*";
    private const string Absent = AllowedDifference.Absent;
    private const string Nginx = "FastCgiBehindNginx";
    private const string Apache = "FastCgiBehindApache";

    private const string FramedByFastCgi =
        "FastCGI marks the end of a body itself; the web server removes the client's chunks.";
    private const string LengthIsTold =
        "A response that is complete before its first byte is sent has a length and no chunks.";
    private const string LengthDroppedByApache =
        "Apache 2.4.59 and later drop the length that a CGI-like application declares (CVE-2024-24795).";
    private const string LengthNotInHeaders =
        "The server sends the length of an empty response but does not add it to the application's headers.";
    private const string Answered = "A request is not aborted once its whole response is written.";
    private const string CachedLength = "The response cache adds the length to a stored response that was not chunked.";
    private const string NotStarting = "If the client has disconnected, the response does not start.";
    private const string CutInNginx = "nginx closes the connection of a cut response and drops what it has buffered.";
    private const string CutByApache = "If nothing of a cut response was sent, Apache answers itself.";
    private const string NotBuffered =
        "It stops the web server from buffering a response for which the application disabled buffering.";
    private const string IdentityDropped = "Apache's mod_deflate would send its own coding in addition.";
    private const string LengthIsKnown = "The web server has received the whole body and knows its length.";
    private const string LengthOfNoBody =
        "Most web servers send a length of 0 for every request without a body, so it says nothing about the client's.";
    private const string BodyIsUnknown =
        "Apache reports an absent body only after the parameters, when the application may already run.";
    private const string OriginalProtocol = "The application sees the client's protocol, not the proxy's.";
    private const string UpperCase = "Header names arrive in upper case; unknown ones get the usual spelling.";
    private const string Joined = "The web server joins fields with the same name.";

    public static IReadOnlyList<AllowedDifference> All { get; } =
    [
        .. WithoutFeatures(
            "The connection belongs to the web server and is shared by clients; one client would see another's state.",
            "IConnectionCompleteFeature", "IConnectionHeartbeatFeature", "IConnectionIdFeature",
            "IConnectionItemsFeature", "IConnectionLifetimeFeature",
            "IConnectionLifetimeNotificationFeature", "IConnectionSocketFeature", "IConnectionTransportFeature",
            "IMemoryPoolFeature", "IPersistentStateFeature"),
        .. WithoutFeatures(
            "FastCGI has no upgrades. SignalR and others detect the missing feature.",
            "IHttpUpgradeFeature", "IHttpExtendedConnectFeature", "IHttpWebTransportFeature"),
        .. WithoutFeatures(
            "The web server does the TLS handshake.",
            "ISslStreamFeature",
            "ITlsApplicationProtocolFeature",
            "ITlsHandshakeFeature"),
        .. WithoutFeatures("FastCGI has no trailers.", "IHttpRequestTrailersFeature"),
        .. WithoutFeatures("The web server limits slow clients.", "IHttpMinResponseDataRateFeature"),
        new(Any, "* IServerVariablesFeature", Absent, "present", "The feature holds the web server's parameters."),

        new(Nginx, "* *Request*.Headers[Transfer-Encoding]", "chunked", Absent, FramedByFastCgi),
        new(Apache, "* *Request*.Headers[Transfer-Encoding]", "chunked", Any, FramedByFastCgi),
        new(Any, "* *Response*.Headers[Transfer-Encoding]", "chunked", Absent, FramedByFastCgi),
        new(Any, "* HttpRequest.ContentLength", "null", Any, LengthIsKnown) { Request = "* chunked → *" },
        new(Any, "* *Headers[Content-Length]", Absent, Any, LengthIsKnown) { Request = "* chunked → *" },
        new(Any, "* IHttpRequestBodyDetectionFeature.CanHaveBody", "True", Any, LengthIsKnown)
        {
            Request = "* chunked → *",
        },
        new(Any, "* IHttpMaxRequestBodySizeFeature.IsReadOnly", "True", Any, LengthIsKnown)
        {
            Request = "* chunked → *",
        },
        new(Any, "log 00", "*Request starting * -", Any, LengthIsKnown) { Request = "* chunked → *" },
        .. WithoutLength("GET *", "DELETE *"),
        new(Apache, "* IHttpRequestBodyDetectionFeature.CanHaveBody", "False", Any, BodyIsUnknown),
        new(Apache, "* IHttpMaxRequestBodySizeFeature.IsReadOnly", "False", Any, BodyIsUnknown),

        new(Apache, "header Content-Length", Any, Any, LengthDroppedByApache),
        new(Apache, "header Transfer-Encoding", Any, Any, LengthDroppedByApache),
        new(Any, "header Content-Length", Absent, Any, LengthIsTold),
        new(Any, "header Transfer-Encoding", "chunked", Any, LengthIsTold),
        new(Any, "end *.RequestAborted", "can be canceled: True", Any, Answered),
        new(
            Any,
            "log *",
            "* Request finished * 0 * {duration}ms",
            "* Request finished * {duration}ms",
            LengthNotInHeaders),
        new(Any, "* *Response*.Headers[X-Accel-Buffering]", Absent, "no", NotBuffered),
        new(Apache, "header X-Accel-Buffering", Absent, "no", $"{NotBuffered} Apache passes the field on."),

        new(Apache, "* *Response*.Headers[Content-Encoding]", "identity", Absent, IdentityDropped)
        {
            IsOptional = true,
        },
        new(Apache, "header Content-Encoding", "identity", Absent, IdentityDropped) { IsOptional = true },

        new(Nginx, "body", "*HTTP/1.1*", "*HTTP/1.0*", OriginalProtocol) { Request = "* HTTP/1.0 → *" },
        new(Any, "* *Request*.Headers[X-UPPER]", "u", Absent, UpperCase),
        new(Any, "* *Request*.Headers[X-Upper]", Absent, "u", UpperCase),
        new(Nginx, "* *Request*.Headers[Cookie]", "* | *", "*; *", Joined),
        new(Nginx, "* *Request*.Headers[Accept]", "* | *", "*, *", Joined) { Since = "1.23" },
        new(Nginx, "* *Request*.Headers[X-Twice]", "* | *", "*, *", Joined) { Since = "1.23" },
        .. JoinedByApache("* *Request*.Headers[Accept]", "* *Request*.Headers[X-Twice]", "* *Request*.Headers[Cookie]"),
        .. JoinedByApache("header Link", "header WWW-Authenticate", "header X-Order", "header X-Twice"),
        new(
            Apache,
            "* *Cookies[*]",
            Any,
            Absent,
            "A client must send one Cookie field; Apache joins two into an invalid list.")
        {
            Request = "GET /echo?repeated *",
        },
        new(Apache, "header Content-Type", Any, Absent, "Apache omits the type of a 304.") { Request = "* → 304" },
        new(Any, "end *Response*ContentLength", "null", Any, CachedLength) { Request = "* /response-cache *" },
        new(Any, "end *Response*.Headers[Content-Length]", Absent, Any, CachedLength)
        {
            Request = "* /response-cache *",
        },
        new(Any, "log *", "* Request finished * 200 - *", "* Request finished * 200 * *", CachedLength)
        {
            Request = "* /response-cache *",
        },
        new(Any, "events", "*OnStarting?*", Any, NotStarting) { Request = "* → 0" },
        new(Any, "events", "*OnStarting?*", Any, "After a failed callback, no other is called.")
        {
            Request = "* /*/on-starting *",
        },
        .. LostInNginx("* /*/after *", "* /*/too-many *"),
        .. AnsweredByApache("* → 0", "* /*/too-many *"),
        new(Any, "body", "*HEADERS*", "*HEADERS*", "The developer page lists headers in the web server's order.")
        {
            Request = "* /developer/*",
        },
        new(Nginx, Any, "*UPPER.example*", "*upper.example*", "nginx passes the host in lower case.")
        {
            Since = "1.29.5",
        },
        new(Apache, "informational statuses", Any, "100", "Apache requests the body before the application does.")
        {
            Request = "* 100-continue → *",
        },
    ];

    public static string ToTable() => string.Join('\n', All.GroupBy(difference => difference.Reason)
        .Select(group => (
            Reason: group.Key,
            Changes: string.Join("<br>", group.GroupBy(static difference => difference.Change).Select(ToText))))
        .Select(static row => $"| {row.Reason} | {row.Changes.Replace("|", "\\|", StringComparison.Ordinal)} |")
        .Prepend("|---|---|")
        .Prepend("| Why | What: with Kestrel → with FastCgi |"));

    private static string ToText(IGrouping<string, AllowedDifference> changed)
        => string.Join(", ", changed.Select(static difference => $"`{difference.Value}`")) + changed.Key;

    private static IEnumerable<AllowedDifference> WithoutFeatures(string reason, params string[] names)
        => names.Select(name => new AllowedDifference(Any, $"* {name}*", Any, Absent, reason));

    private static IEnumerable<AllowedDifference> WithoutLength(params string[] requests)
        => requests.SelectMany(request => ((string Value, string Kestrel, string FastCgi)[])
        [
            ("* HttpRequest.ContentLength", "0", "null"), ("* *Request*.Headers[Content-Length]", "0", Absent),
            ("log 00", "*Request starting * 0", "*Request starting * -"),
        ], (request, value) => new AllowedDifference(Any, value.Value, value.Kestrel, value.FastCgi, LengthOfNoBody)
        {
            Request = request,
        });

    private static IEnumerable<AllowedDifference> LostInNginx(params string[] requests)
        => requests.SelectMany(request => ((string Value, string FastCgi)[])
        [
            ("status", "0 no response"), ("body", string.Empty), ("header Content-Length", Absent),
            ("body is cut", "False"),
        ], (request, value) => new AllowedDifference(Nginx, value.Value, Any, value.FastCgi, CutInNginx)
        {
            Request = request,
            IsOptional = true,
        });

    private static IEnumerable<AllowedDifference> AnsweredByApache(params string[] requests)
        => requests.SelectMany(request => ((string Value, string FastCgi)[])
        [
            ("status", "503 Service Unavailable"), ("body", "*503 Service Unavailable*"),
            ("header Content-Type", "text/html*"), ("body is cut", "False"),
        ], (request, value) => new AllowedDifference(Apache, value.Value, Any, value.FastCgi, CutByApache)
        {
            Request = request,
        });

    private static IEnumerable<AllowedDifference> JoinedByApache(params string[] values)
        => values.Select(value => new AllowedDifference(Apache, value, "* | *", "*, *", Joined));
}
