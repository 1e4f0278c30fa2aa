namespace FastCgi.AspNetCore.Diagnostics;

internal static partial class FastCgiLog
{
    [LoggerMessage(100, LogLevel.Warning,
        "{WebServer} does not pass the scheme, so the application treats requests as http although they came over "
            + "TLS ({Count} of the last {Samples} sampled requests). Add {Line}. See "
            + Docs + "troubleshooting.md#redirect-loop.")]
    public static partial void SchemeNotPassed(
        this ILogger log, string webServer, long count, long samples, string line);

    [LoggerMessage(101, LogLevel.Warning,
        "{WebServer} does not pass HTTP_HOST ({Count} of the last {Samples} sampled requests), so the application "
            + "creates URLs with the server name from the web server's configuration. Add {Line}. See "
            + Docs + "troubleshooting.md#redirects-to-another-port.")]
    public static partial void HostNotPassed(this ILogger log, string webServer, long count, long samples, string line);

    [LoggerMessage(102, LogLevel.Warning,
        "{WebServer} opens a connection for each request ({Rate:F0} per second), which costs several times as much "
            + "as the request itself. Add {Line}. See "
            + Docs + "troubleshooting.md#resource-temporarily-unavailable.")]
    public static partial void ConnectionsNotKept(this ILogger log, string webServer, double rate, string line);

    [LoggerMessage(103, LogLevel.Warning,
        "The process has {Count} of at most {Limit} file descriptors open. If it runs out of them, it cannot accept "
            + "connections or open files. Raise LimitNOFILE= in the systemd unit, or ulimit -n. See "
            + Docs + "troubleshooting.md#resource-temporarily-unavailable.")]
    public static partial void DescriptorsNearLimit(this ILogger log, long count, long limit);

    [LoggerMessage(104, LogLevel.Warning,
        "{Count} work items have been waiting for a .NET thread-pool thread for {Seconds} s. Handlers probably block "
            + "its threads after an await. Await instead of blocking, or add "
            + "\"System.Threading.ThreadPool.MinThreads\": {Threads} to runtimeconfig.template.json. See "
            + Docs + "troubleshooting.md#slow-responses.")]
    public static partial void ThreadPoolStarved(this ILogger log, long count, int seconds, int threads);

    [LoggerMessage(105, LogLevel.Warning,
        "Handlers blocked event-loop threads {Rate:F0} times per second. The request paths do not predict which "
            + "handlers block, so the loops keep moving to other threads. Set FastCgi:Transport:ApplicationScheduling "
            + "to ThreadPool. See " + Docs + "troubleshooting.md#slow-responses.")]
    public static partial void HandOversTooFrequent(this ILogger log, double rate);

    [LoggerMessage(110, LogLevel.Information,
        "The user in {UserParameter} is ignored because {TypeParameter} is absent: {WebServer} passes any name that "
            + "a client sends, even if it is not verified. Add {Line}, but only if the web server authenticates users. "
            + "See " + Docs + "identity.md#the-user.")]
    public static partial void UserNotTaken(
        this ILogger log, string userParameter, string typeParameter, string webServer, string line);

    [LoggerMessage(112, LogLevel.Warning,
        "The last {Count} requests that were aborted without a response were all {Seconds:F0} s old. A timeout, most "
            + "likely in {WebServer}, ends such requests, and clients get a 504. If responses need more time, add "
            + "{Line}. Otherwise, find out what they are waiting for. See "
            + Docs + "troubleshooting.md#504-gateway-timeout.")]
    public static partial void RequestsGivenUp(
        this ILogger log, int count, double seconds, string webServer, string line);

    [LoggerMessage(115, LogLevel.Warning,
        "Every request so far got a 404, and every path began with {PathBase}: the path base is probably missing. "
            + "Set it to the path of the location: fastcgi_param PATH_BASE {PathBase}; in nginx, SetEnv PATH_BASE "
            + "{PathBase} in Apache, or FastCgi:PathBase={PathBase} for any web server. See "
            + Docs + "troubleshooting.md#404-not-found.")]
    public static partial void PathBaseMissing(this ILogger log, string pathBase);

    [LoggerMessage(116, LogLevel.Warning,
        "The application takes {Taken} from request headers ({Count} since the last such message), so any client can "
            + "forge them. Remove UseForwardedHeaders, or the code that does this: the web server passes verified "
            + "values. Behind a load balancer, let the web server trust only the load balancer's headers, as shown "
            + "under \"Behind a load balancer\" on its page in " + Docs + "front-ends.")]
    public static partial void ForwardedHeaderTaken(this ILogger log, string taken, long count);

    [LoggerMessage(113, LogLevel.Information, "The status at {Path} is visible to {Audience}.")]
    public static partial void StatusShown(this ILogger log, string path, string audience);

    [LoggerMessage(114, LogLevel.Warning,
        "The status at {Path} is visible to no one: outside Development, the application must specify who may see "
            + "it. Add .RequireAuthorization(\"policy\") to MapFastCgiStatus(), or .AllowAnonymous() if the web server "
            + "restricts access to the path.")]
    public static partial void StatusNotShown(this ILogger log, string path);

    [LoggerMessage(107, LogLevel.Warning,
        "Connection id \"{ConnectionId}\", request {Sequence}: {Method} {Path} from {Client} has taken {Seconds:F0} s "
            + "and is {Activity} ({BytesRead} bytes read, {BytesWritten} written). Slow requests not logged since the "
            + "last such message: {Suppressed}.")]
    public static partial void SlowRequest(
        this ILogger log, string connectionId, uint sequence, string method, string path, string client, double seconds,
        string activity, long bytesRead, long bytesWritten, long suppressed);
}
