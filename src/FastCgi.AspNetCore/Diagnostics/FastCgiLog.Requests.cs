namespace FastCgi.AspNetCore.Diagnostics;

internal static partial class FastCgiLog
{
    [LoggerMessage(EventId = 40, Message = OfRequest + "An unhandled exception was thrown by the application.")]
    private static partial void ApplicationError(
        this ILogger log, LogLevel level, string connectionId, string traceIdentifier, Exception exception);

    /// <summary>A client error, such as a body that is too large, which is not an application error.</summary>
    public static void ApplicationError(
        this ILogger log, string connectionId, string traceIdentifier, Exception exception)
    {
        var level = exception is BadHttpRequestException { StatusCode: < 500 } ? LogLevel.Debug : LogLevel.Error;
        log.ApplicationError(level, connectionId, traceIdentifier, exception);
    }

    [LoggerMessage(41, LogLevel.Debug,
        OfRequest + "The request was aborted, so the exception of its handler is ignored.")]
    public static partial void RequestAborted(this ILogger log, string connectionId, string traceIdentifier);

    [LoggerMessage(42, LogLevel.Information, OfRequest + "The application aborted the request.")]
    public static partial void ApplicationAborted(this ILogger log, string connectionId, string traceIdentifier);

    [LoggerMessage(43, LogLevel.Debug,
        OfConnection + "Request {RequestId} was rejected with status {StatusCode}: {Reason}")]
    public static partial void RequestRejected(
        this ILogger log, string connectionId, int requestId, int statusCode, string reason);

    [LoggerMessage(44, LogLevel.Error, "A RequestAborted callback threw an exception.")]
    public static partial void CancellationCallbackFailed(this ILogger log, Exception exception);

    [LoggerMessage(45, LogLevel.Error, OfRequest + "The host failed to dispose the context of the request.")]
    public static partial void DisposeContextFailed(
        this ILogger log, string connectionId, string traceIdentifier, Exception exception);

    [LoggerMessage(46, LogLevel.Debug, OfRequest + "The request is invalid and gets a {StatusCode}.")]
    public static partial void BadRequest(
        this ILogger log, string connectionId, string traceIdentifier, int statusCode, Exception exception);

    [LoggerMessage(47, LogLevel.Error, OfRequest + "The server failed to end the request.")]
    public static partial void RequestEndFailed(
        this ILogger log, string connectionId, string traceIdentifier, Exception exception);

    [LoggerMessage(48, LogLevel.Warning,
        "Requests got a 413 ({Count} since the last such message) because their bodies exceed MaxRequestBodySize "
            + "({Limit} bytes). To accept them, raise FastCgi:Limits:MaxRequestBodySize, or add [RequestSizeLimit] to "
            + "the endpoint. See " + Docs + "troubleshooting.md#413-content-too-large.")]
    public static partial void RequestBodyTooLarge(this ILogger log, long count, long? limit);

    [LoggerMessage(50, LogLevel.Debug,
        "The client certificate is hidden from the application because SSL_CLIENT_VERIFY is '{Verdict}': the web "
            + "server has not verified it, or does not pass the variable.")]
    public static partial void ClientCertificateNotVerified(this ILogger log, string? verdict);

    [LoggerMessage(51, LogLevel.Debug, "The client certificate in {Parameter} is neither PEM nor base64-encoded DER.")]
    public static partial void ClientCertificateUnreadable(this ILogger log, string parameter);

    [LoggerMessage(55, LogLevel.Information,
        OfRequest + "The application left {Length} bytes of the body unread for UnreadBodyTimeout, which blocked other "
            + "requests on the connection. The rest of the body is dropped.")]
    public static partial void RequestBodyRefused(
        this ILogger log, string connectionId, string traceIdentifier, long length);

    [LoggerMessage(57, LogLevel.Warning,
        "Requests got a 404 ({Count} since the last such message, most recently for {Target}) because their paths do "
            + "not begin with the path base '{PathBase}' from {Source}. Set the path base to the path of the location: "
            + "fastcgi_param PATH_BASE /app; for location /app/ in nginx, SetEnv PATH_BASE /app for <Location /app> in "
            + "Apache, or FastCgi:PathBase=/app for any web server. See " + Docs + "troubleshooting.md#404-not-found.")]
    public static partial void PathBaseNotMatched(
        this ILogger log, long count, string target, string pathBase, string source);

    [LoggerMessage(58, LogLevel.Warning,
        "The application redirected requests to https ({Count} since the last such message): the web server reported "
            + "them as http, although {Evidence} indicates https. Clients may be in a redirect loop. Configure the web "
            + "server to pass the scheme, but only for requests from the load balancer: fastcgi_param HTTPS on; in "
            + "nginx, SetEnv HTTPS on in Apache, mod_extforward in lighttpd, set-param REQUEST_SCHEME https in HAProxy "
            + "('Behind a load balancer' in " + Docs + "front-ends). Without a load balancer, the client forged the "
            + "header. See " + Docs + "troubleshooting.md#redirect-loop.")]
    public static partial void RedirectToHttps(this ILogger log, long count, string evidence);

    [LoggerMessage(59, LogLevel.Information,
        "Requests without an Authorization header get a 401, and no request has had one. {WebServer} drops it by "
            + "default. If clients send it, add {Line}. See " + Docs + "troubleshooting.md#401-unauthorized.")]
    public static partial void AuthorizationAbsent(this ILogger log, string webServer, string line);

    [LoggerMessage(60, LogLevel.Debug,
        OfRequest + "The application wrote a body of {Length} bytes in response to HEAD; it is not sent.")]
    public static partial void HeadBodyWritten(
        this ILogger log, string connectionId, string traceIdentifier, long length);

    [LoggerMessage(53, LogLevel.Warning,
        "The web server does not pass {Parameters}, so {Result} ({Count} since the last such message). {Advice} See "
            + Docs + "troubleshooting.md#400-bad-request.")]
    public static partial void ParametersMissing(
        this ILogger log, string parameters, long count, string result, string advice);

    [LoggerMessage(54, LogLevel.Warning,
        "HTTP_HOST is '{Host}', without a port, although clients reached the web server on port {Port} ({Count} "
            + "since the last such message), so absolute redirects and links lack the port. If clients use port "
            + "{Port}, add after include fastcgi_params; in nginx: fastcgi_param HTTP_HOST $host:$server_port; "
            + "Otherwise, for example behind a load balancer or a port mapping, pass the port that clients use: "
            + "fastcgi_param SERVER_PORT 443; (HAProxy: set-param SERVER_PORT 443). See "
            + Docs + "troubleshooting.md#redirects-to-another-port.")]
    public static partial void HostWithoutPort(this ILogger log, string? port, string host, long count);

    [LoggerMessage(56, LogLevel.Warning,
        "Requests got a 503 ({Count} since the last such message) because MaxConcurrentRequests ({Limit}) was "
            + "reached and the queue was full (RequestQueueLimit: {Queue}). Raise "
            + "FastCgi:Limits:MaxConcurrentRequests, or let more requests wait with FastCgi:Limits:RequestQueueLimit. "
            + "See " + Docs + "troubleshooting.md#503-service-unavailable.")]
    public static partial void RequestsRefused(this ILogger log, long count, long? limit, int queue);

    [LoggerMessage(61, LogLevel.Warning,
        OfRequest + "The response headers {Names} belong to the web server and are not sent ({Count} since the last "
            + "such message). Remove the code that sets them.")]
    public static partial void HeadersDropped(
        this ILogger log, string connectionId, string traceIdentifier, string names, long count);

    [LoggerMessage(62, LogLevel.Debug, OfRequest + "The web server sends the file {Path} as {Target}.")]
    public static partial void FileOffloaded(
        this ILogger log, string connectionId, string traceIdentifier, string path, string target);

    [LoggerMessage(63, LogLevel.Debug, OfRequest + "The application sends the file {Path} itself: {Obstacle}.")]
    public static partial void FileStreamed(
        this ILogger log, string connectionId, string traceIdentifier, string path, string obstacle);

    [LoggerMessage(65, LogLevel.Information,
        "The response headers are {Length} bytes long. By default, nginx accepts 4 KiB; beyond that, it returns 502 "
            + "and logs 'upstream sent too big header'. Add these lines unless they are already there: "
            + "fastcgi_buffer_size {Size}k; fastcgi_buffers 8 {Size}k; See "
            + Docs + "troubleshooting.md#response-headers-that-are-too-large.")]
    public static partial void HeadTooLargeForNginx(this ILogger log, int length, int size);
}
