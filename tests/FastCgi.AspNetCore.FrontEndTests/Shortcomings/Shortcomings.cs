namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>
/// What web servers cannot do. Cases that need it do not run behind them. Their pages in <c>docs/front-ends</c> list
/// each sentence word for word, which a test checks.
/// </summary>
internal static class Shortcomings
{
    private const string NoticesClientLate =
        "`RequestAborted` fires only when something is sent to the disconnected client.";

    private const string SeeSecurity = "See [security.md](../security.md#header-names-with-underscores).";

    private const string HoldsHeaders = "Response headers reach the client only with the first byte of the body.";

    public static IReadOnlyList<Shortcoming> All { get; } =
    [
        new(
            FrontEndKind.Nginx,
            Ability.EarlyHeaders,
            "Before 1.26, over HTTP/2, response headers reach the client only with the first byte of the body.")
        {
            Where = static setup => setup.UsesTls,
            Until = "1.26",
        },

        new(FrontEndKind.Apache, Ability.NoticedClient, NoticesClientLate),
        new(FrontEndKind.Apache, Ability.EarlyHeaders, HoldsHeaders),
        new(
            FrontEndKind.Apache,
            Ability.BufferingHeader,
            "Over HTTP/1.1, `X-Accel-Buffering: no` is ignored, so server-sent events need `flushpackets=on`.")
        {
            Where = static setup => !setup.UsesTls,
        },
        new(
            FrontEndKind.Apache,
            Ability.ContentLength,
            "Since Apache 2.4.59 (CVE-2024-24795), the `Content-Length` of a response reaches the client only with "
                + "`SetEnv ap_trust_cgilike_cl 1`."),
        new(FrontEndKind.Apache, Ability.CutResponse,
            "Over HTTP/2, clients may wait indefinitely for the rest of an incomplete response, whatever Apache's "
                + "timeouts and `Content-Length`. To prevent this, set `Protocols http/1.1` or a client timeout. The "
                + "response never looks complete.")
        {
            Where = static setup => setup.UsesTls,
        },

        new(FrontEndKind.Lighttpd, Ability.NoticedClient,
            "`RequestAborted` sometimes fires only when the web server sends something to the disconnected client."),
        new(FrontEndKind.Lighttpd, Ability.BufferingHeader,
            "`X-Accel-Buffering: no` is ignored, so server-sent events need `server.stream-response-body = 1`."),
        new(
            FrontEndKind.Lighttpd,
            Ability.TargetThatIsNoText,
            "A path with escaped bytes that are not UTF-8, such as `%FF`, is rejected with 400."),
        new(FrontEndKind.Lighttpd, Ability.UploadOfUnknownLength,
            "An upload without `Content-Length` is rejected with 411 if `server.stream-request-body` is on.")
        {
            Where = static setup => !setup.BuffersRequests,
        },
        new(FrontEndKind.Lighttpd, Ability.UploadOfUnknownLength,
            "Before 1.4.79, over HTTP/2, every upload without `Content-Length` is rejected.")
        {
            Where = static setup => setup.UsesTls,
            Until = "1.4.79",
        },
        new(FrontEndKind.Lighttpd, Ability.CutResponse,
            "Before 1.4.85, an incomplete response without `Content-Length` may look complete.")
        {
            Until = "1.4.85",
        },
        new(FrontEndKind.Lighttpd, Ability.HyphensOnly,
            "Headers with underscores or other special characters, such as `X_Auth_User`, become `X-Auth-User`; before "
                + "1.4.83, even beside it. `headers.lua` rejects them. " + SeeSecurity),

        new(FrontEndKind.HaProxy, Ability.NoticedClient, NoticesClientLate),
        new(
            FrontEndKind.HaProxy,
            Ability.BufferingHeader,
            "`X-Accel-Buffering: no` is ignored, so server-sent events need `option http-no-delay`."),
        new(
            FrontEndKind.HaProxy,
            Ability.SmallPieces,
            "An upload reaches the application only when it is complete or fills a 16 KB buffer."),
        new(FrontEndKind.HaProxy, Ability.LargeUploadOfUnknownLength,
            "An upload without `Content-Length` is rejected with 400 or 502 if it does not fit in a 16 KB buffer."),
        new(FrontEndKind.HaProxy, Ability.EarlyAnswer,
            "After a response to an incomplete upload, HAProxy does not read the rest. A client that sends the whole "
                + "body before it reads the response waits until `timeout client` expires."),
        new(
            FrontEndKind.HaProxy,
            Ability.CutResponse,
            "Before 3.0, over HTTP/2, an incomplete response without `Content-Length` looks complete.")
        {
            Where = static setup => setup.UsesTls,
            Until = "3.0",
        },

        new(FrontEndKind.Caddy, Ability.NoticedClient, NoticesClientLate),
        new(
            FrontEndKind.Caddy,
            Ability.BufferingHeader,
            "`X-Accel-Buffering: no` is ignored, so streamed responses other than server-sent events need "
                + "`flush_interval -1`."),
        new(
            FrontEndKind.Caddy,
            Ability.SmallPieces,
            "An upload reaches the application only when it is complete or fills a 64 KB buffer."),
        new(
            FrontEndKind.Caddy,
            Ability.RawTarget,
            "A request target with non-ASCII bytes is escaped and served; other web servers reject it."),
        new(
            FrontEndKind.Caddy,
            Ability.ForwardedHeaders,
            "Caddy replaces the client's `X-Forwarded-For`, `-Host`, and `-Proto` with its own."),
        new(
            FrontEndKind.Caddy,
            Ability.LocalAddress,
            "Caddy does not pass the address that the client connected to, so `Connection.LocalIpAddress` is null."),
        new(FrontEndKind.Caddy, Ability.LargeUploadOfUnknownLength,
            "Since 2.9, an upload without `Content-Length` is rejected with 411 if it has 4,096 bytes or more, unless "
                + "`request_buffers` in `reverse_proxy` allows Caddy to hold it in memory.")
        {
            Since = "2.9",
        },
        new(FrontEndKind.Caddy, Ability.CutResponse,
            "Before 2.8, an incomplete response without `Content-Length` looks complete.")
        {
            Until = "2.8",
        },
    ];

    public static bool Has(FrontEndSetup setup, Ability ability)
        => All.Any(shortcoming => shortcoming.Applies(setup, ability));
}
