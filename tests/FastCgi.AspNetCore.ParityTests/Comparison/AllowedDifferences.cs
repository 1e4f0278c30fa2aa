namespace FastCgi.AspNetCore.ParityTests.Comparison;

/// <summary>All that may differ, and why. <c>docs/parity.md</c> has the table.</summary>
internal static class AllowedDifferences
{
    private const string Any = "*";
    private const string Absent = AllowedDifference.Absent;
    private const string Nginx = "FastCgiBehindNginx";
    private const string Apache = "FastCgiBehindApache";

    private const string FramedByFastCgi = "FastCGI itself marks where a body ends, and the web server takes the client's chunks off.";
    private const string LengthIsTold = "A response that is complete before its first byte is sent gets its length, and needs no chunks.";
    private const string LengthDroppedByApache = "Apache 2.4.59 and later drop the length that any CGI-like application declares (CVE-2024-24795).";
    private const string LengthNotInHeaders = "The server tells the web server the length of an empty response; it does not add it to the application's headers.";
    private const string Answered = "A request is no longer aborted when all of its response is written, in whichever way.";
    private const string CachedLength = "The response cache adds the length to what it kept, as nothing says that it came in chunks.";
    private const string NotStarting = "A response that nobody gets does not start.";
    private const string CutInNginx = "Where a response is cut nginx closes the connection in any case; what it still holds back is lost.";
    private const string CutByApache = "Where Kestrel cuts the connection, Apache answers by itself, as long as nothing of the response has been sent.";
    private const string NotBuffered = "This is how a web server is told not to hold back a response for which the application disabled buffering.";
    private const string LengthIsKnown = "The web server has received all of a body without a length, and knows its length.";
    private const string BodyIsUnknown = "Apache says that a request has no body only after the parameters, when the application may already run.";
    private const string OriginalProtocol = "The application knows the protocol of the client, not the one between proxy and application.";
    private const string UpperCase = "The names of headers arrive in upper case; those that are not known are spelled as most are.";
    private const string Joined = "The web server makes one field of those with the same name, which means the same.";

    public static IReadOnlyList<AllowedDifference> All { get; } =
    [
        .. WithoutFeatures(
            "They are about the connection, which is the web server's and shared by its clients: what is kept there for one client would be seen by another.",
            "IConnectionCompleteFeature", "IConnectionHeartbeatFeature", "IConnectionIdFeature", "IConnectionItemsFeature", "IConnectionLifetimeFeature",
            "IConnectionLifetimeNotificationFeature", "IConnectionSocketFeature", "IConnectionTransportFeature", "IMemoryPoolFeature", "IPersistentStateFeature"),
        .. WithoutFeatures(
            "A FastCGI request cannot become another protocol. As the feature is absent, SignalR and others choose what works at once.",
            "IHttpUpgradeFeature", "IHttpExtendedConnectFeature", "IHttpWebTransportFeature"),
        .. WithoutFeatures("The handshake is the web server's.", "ISslStreamFeature", "ITlsApplicationProtocolFeature"),
        new(Any, "* ITlsHandshakeFeature.*", Any, Any, "The web server tells what it negotiated, which depends on its configuration; of the cipher it tells no more than the name."),
        .. WithoutFeatures("FastCGI has no trailers.", "IHttpRequestTrailersFeature"),
        .. WithoutFeatures("The web server is in charge of slow clients.", "IHttpMinResponseDataRateFeature"),
        new(Any, "* IServerVariablesFeature", Absent, "present", "The web server's variables are there to be read."),

        new(Nginx, "* *Request*.Headers[Transfer-Encoding]", "chunked", Absent, FramedByFastCgi),
        new(Apache, "* *Request*.Headers[Transfer-Encoding]", "chunked", Any, FramedByFastCgi),
        new(Any, "* *Response*.Headers[Transfer-Encoding]", "chunked", Absent, FramedByFastCgi),
        new(Any, "* HttpRequest.ContentLength", "null", Any, LengthIsKnown) { Request = "* chunked → *" },
        new(Any, "* *Headers[Content-Length]", Absent, Any, LengthIsKnown) { Request = "* chunked → *" },
        new(Any, "* IHttpRequestBodyDetectionFeature.CanHaveBody", "True", Any, LengthIsKnown) { Request = "* chunked → *" },
        new(Any, "* IHttpMaxRequestBodySizeFeature.IsReadOnly", "True", Any, LengthIsKnown) { Request = "* chunked → *" },
        new(Any, "log 00", "*Request starting * -", Any, LengthIsKnown) { Request = "* chunked → *" },
        new(Apache, "* IHttpRequestBodyDetectionFeature.CanHaveBody", "False", Any, BodyIsUnknown),
        new(Apache, "* IHttpMaxRequestBodySizeFeature.IsReadOnly", "False", Any, BodyIsUnknown),

        new(Apache, "header Content-Length", Any, Any, LengthDroppedByApache),
        new(Apache, "header Transfer-Encoding", Any, Any, LengthDroppedByApache),
        new(Any, "header Content-Length", Absent, Any, LengthIsTold),
        new(Any, "header Transfer-Encoding", "chunked", Any, LengthIsTold),
        new(Any, "end *.RequestAborted", "can be canceled: True", Any, Answered),
        new(Any, "log *", "* Request finished * 0 * {duration}ms", "* Request finished * {duration}ms", LengthNotInHeaders),
        new(Any, "* *Response*.Headers[X-Accel-Buffering]", Absent, "no", NotBuffered),
        new(Apache, "header X-Accel-Buffering", Absent, "no", $"{NotBuffered} Apache does not know the field, and hands it on."),

        new(Nginx, "body", "*HTTP/1.1*", "*HTTP/1.0*", OriginalProtocol) { Request = "* HTTP/1.0 → *" },
        new(Any, "* *Request*.Headers[X-UPPER]", "u", Absent, UpperCase),
        new(Any, "* *Request*.Headers[X-Upper]", Absent, "u", UpperCase),
        new(Nginx, "* *Request*.Headers[Cookie]", "* | *", "*; *", Joined),
        .. JoinedByApache("* *Request*.Headers[Accept]", "* *Request*.Headers[X-Twice]", "* *Request*.Headers[Cookie]"),
        .. JoinedByApache("header Link", "header WWW-Authenticate", "header X-Order", "header X-Twice"),
        new(Apache, "* *Cookies[*]", Any, Absent, "A client must send one Cookie field; Apache makes of two something that is not a list of cookies.")
        {
            Request = "GET /echo?repeated *",
        },
        new(Apache, "header Content-Type", Any, Absent, "Apache leaves the type out of a 304, which has no content.") { Request = "* → 304" },
        new(Any, "end *Response*ContentLength", "null", Any, CachedLength) { Request = "* /response-cache *" },
        new(Any, "end *Response*.Headers[Content-Length]", Absent, Any, CachedLength) { Request = "* /response-cache *" },
        new(Any, "log *", "* Request finished * 200 - *", "* Request finished * 200 * *", CachedLength) { Request = "* /response-cache *" },
        new(Any, "events", "*OnStarting?*", Any, NotStarting) { Request = "* → 0" },
        new(Any, "events", "*OnStarting?*", Any, "When a callback has failed, no other is called.") { Request = "* /*/on-starting *" },
        .. LostInNginx("* /*/after *", "* /*/too-many *"),
        .. AnsweredByApache("* → 0", "* /*/too-many *"),
        new(Any, "body", "*HEADERS*", "*HEADERS*", "The developer page lists the headers of the request in the order in which the web server sends them.") { Request = "* /developer/*" },
        new(Apache, "informational statuses", Any, "100", "Apache asks the client for the body before the application does.") { Request = "* 100-continue → *" },
    ];

    /// <summary>All of them, a row for each reason.</summary>
    public static string ToTable() => string.Join('\n', All.GroupBy(difference => difference.Reason)
        .Select(group => $"| {group.Key} | {string.Join("<br>", group).Replace("|", "\\|", StringComparison.Ordinal)} |")
        .Prepend("|---|---|")
        .Prepend("| Why | What: with Kestrel → with FastCgi |"));

    private static IEnumerable<AllowedDifference> WithoutFeatures(string reason, params string[] names)
        => names.Select(name => new AllowedDifference(Any, $"* {name}*", Any, Absent, reason));

    private static IEnumerable<AllowedDifference> LostInNginx(params string[] requests)
        => requests.SelectMany(request => ((string Value, string FastCgi)[])
        [
            ("status", "0 no response"), ("body", string.Empty), ("header Content-Length", Absent), ("body is cut", "False"),
        ], (request, value) => new AllowedDifference(Nginx, value.Value, Any, value.FastCgi, CutInNginx) { Request = request, DependsOnTiming = true });

    private static IEnumerable<AllowedDifference> AnsweredByApache(params string[] requests)
        => requests.SelectMany(request => ((string Value, string FastCgi)[])
        [
            ("status", "503 Service Unavailable"), ("body", "*503 Service Unavailable*"), ("header Content-Type", "text/html*"), ("body is cut", "False"),
        ], (request, value) => new AllowedDifference(Apache, value.Value, Any, value.FastCgi, CutByApache) { Request = request });

    private static IEnumerable<AllowedDifference> JoinedByApache(params string[] values)
        => values.Select(value => new AllowedDifference(Apache, value, "* | *", "*, *", Joined));
}
