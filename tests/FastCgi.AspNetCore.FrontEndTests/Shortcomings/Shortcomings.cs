namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>
/// What web servers cannot do. A case that needs it is not run behind them. Their documents in <c>docs/front-ends</c> have each
/// sentence word for word, which a test checks.
/// </summary>
internal static class Shortcomings
{
    private const string NoticesClientLate =
        "A disconnected client is noticed only when something is sent to it: `RequestAborted` does not fire while the application is silent.";

    private const string HoldsHeaders = "Response headers reach the client only with the first byte of the body.";

    public static IReadOnlyList<Shortcoming> All { get; } =
    [
        new(FrontEndKind.Nginx, Ability.EarlyHeaders, "Over HTTP/2, response headers reach the client only with the first byte of the body.")
        {
            Where = static setup => setup.UsesTls,
        },

        new(FrontEndKind.Apache, Ability.NoticedClient, NoticesClientLate),
        new(FrontEndKind.Apache, Ability.EarlyHeaders, HoldsHeaders),
        new(FrontEndKind.Apache, Ability.BufferingHeader, "`X-Accel-Buffering: no` is ignored: server-sent events need `flushpackets=on`."),
        new(FrontEndKind.Apache, Ability.ContentLength, "Since Apache 2.4.59 (CVE-2024-24795), the `Content-Length` of a response does not reach the client."),

        new(FrontEndKind.Lighttpd, Ability.NoticedClient,
            "A client that disconnects while the application is silent is not always noticed: `RequestAborted` may fire only when something is sent."),
        new(FrontEndKind.Lighttpd, Ability.BufferingHeader,
            "`X-Accel-Buffering: no` is ignored: server-sent events need `server.stream-response-body = 1`."),
        new(FrontEndKind.Lighttpd, Ability.TargetThatIsNoText, "A path with escaped bytes that are not UTF-8, such as `%FF`, is refused with 400."),
        new(FrontEndKind.Lighttpd, Ability.UploadOfUnknownLength,
            "An upload without `Content-Length` is refused if the client speaks HTTP/2, or with 411 if `server.stream-request-body` is on.")
        {
            Where = static setup => setup.UsesTls || !setup.BuffersRequests,
        },
        new(FrontEndKind.Lighttpd, Ability.CutResponse,
            "A response without `Content-Length` that the application fails to finish may look complete."),

        new(FrontEndKind.HaProxy, Ability.NoticedClient, NoticesClientLate),
        new(FrontEndKind.HaProxy, Ability.BufferingHeader, "`X-Accel-Buffering: no` is ignored: server-sent events need `option http-no-delay`."),
        new(FrontEndKind.HaProxy, Ability.SmallPieces, "An upload is passed on only when it is complete or fills a buffer of 16 KB."),
        new(FrontEndKind.HaProxy, Ability.LargeUploadOfUnknownLength,
            "An upload without `Content-Length` is refused with 400 if it does not fit a buffer of 16 KB."),
        new(FrontEndKind.HaProxy, Ability.EarlyAnswer,
            "Once an upload is answered, the rest of it is not read: a client that sends the whole body before reading the answer waits until `timeout client` expires."),
        new(FrontEndKind.HaProxy, Ability.CutResponse, "Over HTTP/2, a response without `Content-Length` that the application fails to finish looks complete.")
        {
            Where = static setup => setup.UsesTls,
        },

        new(FrontEndKind.Caddy, Ability.NoticedClient, NoticesClientLate),
        new(FrontEndKind.Caddy, Ability.BufferingHeader, "`X-Accel-Buffering: no` is ignored: server-sent events need `flush_interval -1`."),
        new(FrontEndKind.Caddy, Ability.SmallPieces, "An upload is passed on only when it is complete or fills a buffer of 64 KB."),
        new(FrontEndKind.Caddy, Ability.RawTarget, "A target with non-ASCII bytes is escaped and served; with other web servers it is refused."),
        new(FrontEndKind.Caddy, Ability.ForwardedHeaders, "`X-Forwarded-For`, `-Host` and `-Proto` of the client are replaced by Caddy's own."),
        new(FrontEndKind.Caddy, Ability.LocalAddress, "The address that the client connected to is not passed: `Connection.LocalIpAddress` is null."),
        new(FrontEndKind.Caddy, Ability.CutResponse, "A response without `Content-Length` that the application fails to finish looks complete."),

        new(FrontEndKind.H2o, Ability.NoticedClient, NoticesClientLate),
        new(FrontEndKind.H2o, Ability.EarlyHeaders, HoldsHeaders),
        new(FrontEndKind.H2o, Ability.StreamedUpload, "An upload is passed on only when it is complete."),
        new(FrontEndKind.H2o, Ability.EarlyAnswer,
            "With `fastcgi.timeout.keepalive`, h2o crashes if an upload is answered before it was passed on completely.")
        {
            Where = static setup => setup.KeepsConnections,
        },
        new(FrontEndKind.H2o, Ability.ClientCertificate, "Client certificates are not supported."),
        new(FrontEndKind.H2o, Ability.CutResponse, "A response without `Content-Length` that the application fails to finish looks complete."),
    ];

    public static bool Has(FrontEndSetup setup, Ability ability) => All.Any(shortcoming => shortcoming.Applies(setup, ability));
}
