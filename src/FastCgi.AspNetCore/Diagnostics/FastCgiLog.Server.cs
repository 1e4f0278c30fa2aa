namespace FastCgi.AspNetCore.Diagnostics;

/// <summary>
/// All log messages. Never reuse an id: a new message gets the highest id so far plus one. The first messages have ids
/// by topic: from 1 server, 20 connections, 40 requests, 60 responses, 80 start, 100 advice. Client and web-server
/// errors are logged at Debug; problems an operator can fix at Warning, with the fix, at most once a minute; errors of
/// the application and of this server at Error.
/// </summary>
internal static partial class FastCgiLog
{
    /// <summary>The address of the documents: readers of a log rarely have the repository.</summary>
    public const string Docs = "https://github.com/fastcgi-aspnetcore/FastCgi.AspNetCore/blob/main/docs/";

    private const string OfConnection = "Connection id \"{ConnectionId}\": ";
    private const string OfRequest = "Connection id \"{ConnectionId}\", Request id \"{TraceIdentifier}\": ";

    [LoggerMessage(1, LogLevel.Debug,
        "A connection to {EndPoint} was lost before it was accepted ({Count} since the last such message).")]
    public static partial void AcceptFailed(this ILogger log, EndPoint endPoint, long count, Exception exception);

    [LoggerMessage(2, LogLevel.Warning,
        "The server cannot accept connections to {EndPoint}: {Reason}. Failed attempts since the last such message: "
            + "{Attempts}. Connections closed without a response, for which the web server returns 502: {Closed}. "
            + "Others wait in the backlog; the server retries every 100 ms. {Advice} See "
            + Docs + "troubleshooting.md#resource-temporarily-unavailable.")]
    public static partial void AcceptOutOfResources(
        this ILogger log, EndPoint endPoint, string reason, long attempts, long closed, string advice);

    [LoggerMessage(3, LogLevel.Critical,
        "The listener on {EndPoint} failed, so the server accepts no more connections on it. Restart the application.")]
    public static partial void AcceptLoopFailed(this ILogger log, EndPoint endPoint, Exception exception);

    [LoggerMessage(4, LogLevel.Information,
        "The server ignores {Addresses} from HTTP_PORTS or HTTPS_PORTS because a FastCGI endpoint is configured. To "
            + "serve HTTP too, add the addresses to urls.")]
    public static partial void PortsDropped(this ILogger log, string addresses);

    [LoggerMessage(EventId = 5, Message =
        "No FastCGI endpoint is configured, so the application serves only HTTP, with Kestrel. Add an endpoint with "
            + "--urls fastcgi://127.0.0.1:9000 or in the section FastCgi:Endpoints.")]
    public static partial void OnlyHttp(this ILogger log, LogLevel level);

    [LoggerMessage(6, LogLevel.Debug, "Listening on {Address}.")]
    public static partial void Listening(this ILogger log, string address);

    [LoggerMessage(80, LogLevel.Warning,
        "{Reason} The application is in Development and serves HTTP, so it starts without this endpoint, which comes "
            + "from {Origin}.")]
    public static partial void EndpointLeftOut(this ILogger log, string origin, string reason);

    [LoggerMessage(81, LogLevel.Warning,
        "The SendFile folder {Folder} does not exist, or the application cannot access it, so the web server sends "
            + "no files from it. Create the folder, or correct FastCgi:SendFile:Roots.")]
    public static partial void SendFileFolderMissing(this ILogger log, string folder);

    [LoggerMessage(82, LogLevel.Information,
        "Kestrel options that also apply to FastCGI, unless FastCGI options override them: {Taken}. Kestrel options "
            + "with no effect on FastCGI: {Meaningless}.")]
    public static partial void KestrelOptionsTaken(this ILogger log, string taken, string meaningless);

    [LoggerMessage(83, LogLevel.Warning,
        "The Kestrel options could not be read, so none of them applies to FastCGI. Correct the code that sets them, "
            + "or set the FastCGI options instead.")]
    public static partial void KestrelOptionsUnreadable(this ILogger log, Exception exception);

    [LoggerMessage(84, LogLevel.Information,
        "{Server} is installed on this machine. To pass requests to {Address}, put the following into {File} and run "
            + "{Command}\n\n{Block}\n")]
    public static partial void WebServerFound(
        this ILogger log, string server, string address, string file, string command, string block);

    [LoggerMessage(85, LogLevel.Information,
        "This machine does not have the address {Address}, one of the two addresses of localhost. The application "
            + "starts without it.")]
    public static partial void AddressAbsent(this ILogger log, string address);

    [LoggerMessage(86, LogLevel.Warning,
        "FastCGI is not served because Kestrel was registered later, and the last registered server is used. Call "
            + "UseFastCgi after UseKestrel, or replace UseKestrel with ConfigureKestrel.")]
    public static partial void KestrelTookOver(this ILogger log);

    [LoggerMessage(87, LogLevel.Warning,
        "The server cut responses of which the web server took nothing for {Timeout} (SendTimeout). Connections since "
            + "the last such message: {Count}; the last one: \"{ConnectionId}\". If clients may pause a download for "
            + "longer, raise FastCgi:Limits:SendTimeout. See " + Docs + "robustness.md#time-limits.")]
    public static partial void ResponsesNotTaken(
        this ILogger log, TimeSpan? timeout, long count, string connectionId);

    [LoggerMessage(94, LogLevel.Warning,
        "The server closed connections to {EndPoint} that it had accepted ({Count} since the last such message): "
            + "{Reason}")]
    public static partial void ConnectionNotWatched(this ILogger log, EndPoint endPoint, long count, string reason);

    [LoggerMessage(95, LogLevel.Error,
        "An event loop cannot wait for events on its connections: {Reason}. It retries every 10 ms; failures since "
            + "the last such message: {Count}.")]
    public static partial void WaitFailed(this ILogger log, string reason, long count);

    [LoggerMessage(96, LogLevel.Warning,
        "The content root {ContentRoot} has no wwwroot folder, but {BaseDirectory} has one, so static files are not "
            + "found. Set WorkingDirectory={BaseDirectory} in the systemd unit, or start the application with "
            + "--contentRoot {BaseDirectory}.")]
    public static partial void WebRootMissing(this ILogger log, string contentRoot, string baseDirectory);

    [LoggerMessage(97, LogLevel.Warning,
        "The application uses HTTPS redirection, but the HTTPS port is unknown, so requests over http are not "
            + "redirected. Set ASPNETCORE_HTTPS_PORT=443, or let the web server redirect them.")]
    public static partial void HttpsPortUnknown(this ILogger log);

    [LoggerMessage(98, LogLevel.Error,
        "An event loop has not run for {Time}, so systemd is not told that the server is alive. It restarts the "
            + "service after WatchdogSec=. Before that, dotnet-stack shows what the threads do.")]
    public static partial void LoopNotAnswering(this ILogger log, TimeSpan time);

    [LoggerMessage(19, LogLevel.Warning,
        "Except for a reserve for .NET, the system has no threads left for handlers that block or compute, so "
            + "requests wait for one of the existing threads ({Count}). Raise TasksMax= in the systemd unit, the limit "
            + "of the container (--pids-limit), or ulimit -u, or lower FastCgi:Transport:MaxBlockingThreads.")]
    public static partial void ThreadsOutOfResources(this ILogger log, int count, Exception? exception);

    [LoggerMessage(8, LogLevel.Warning, "The server ignores the sockets in LISTEN_FDS: {Reason}.")]
    public static partial void InheritedSocketsIgnored(this ILogger log, string reason);

    [LoggerMessage(9, LogLevel.Information, "The application is stopping because it has received no requests for "
        + "{Time} (FastCgi:IdleExit).")]
    public static partial void IdleExit(this ILogger log, TimeSpan time);

    [LoggerMessage(11, LogLevel.Warning,
        "Anyone who can reach {Address} can send requests with any client address and user, and the application "
            + "trusts them. Set the endpoint's AllowedAddresses to the addresses of the web server, or listen on "
            + "127.0.0.1 or a Unix socket.")]
    public static partial void OpenToEverybody(this ILogger log, string address);

    [LoggerMessage(30, LogLevel.Information, "{Path} accepts connections from {Who}.")]
    public static partial void SocketAccess(this ILogger log, string path, string who);

    [LoggerMessage(31, LogLevel.Warning,
        "{Path} accepts connections only from {Who}. No known web-server user on this machine ({Users}) can connect: "
            + "{Obstacle}. See " + Docs + "troubleshooting.md#permission-denied. {Advice}")]
    public static partial void SocketOutOfReach(
        this ILogger log, string path, string who, string users, string obstacle, string advice);

    [LoggerMessage(32, LogLevel.Warning,
        "ASPNETCORE_FORWARDEDHEADERS_ENABLED is set, so any client can forge its address and scheme with "
            + "X-Forwarded-For and X-Forwarded-Proto. Remove the variable. Behind a load balancer, configure the web "
            + "server to trust only the load balancer's headers.")]
    public static partial void ForwardedHeadersEnabled(this ILogger log);

    [LoggerMessage(12, LogLevel.Warning, "Could not notify systemd, which may consider the service failed or hung.")]
    public static partial void NotifyFailed(this ILogger log, Exception exception);

    [LoggerMessage(13, LogLevel.Warning,
        "The system limits the backlog of {Address} to {Limit} connections instead of {Backlog}, so the web server "
            + "may return 502 during a burst. Raise net.core.somaxconn, or lower the endpoint's Backlog. See "
            + Docs + "troubleshooting.md#resource-temporarily-unavailable.")]
    public static partial void BacklogCut(this ILogger log, int limit, int backlog, string address);

    [LoggerMessage(14, LogLevel.Error,
        "A thread or callback failed unexpectedly. The server continues; a request or connection may have been "
            + "terminated.")]
    public static partial void ServerFailed(this ILogger log, Exception exception);

    [LoggerMessage(15, LogLevel.Error, "A shutdown step failed: {Step}. The remaining steps continue.")]
    public static partial void StopStepFailed(this ILogger log, string step, Exception exception);

    [LoggerMessage(16, LogLevel.Warning,
        "Another process has locked the folder {Folder} for more than {Seconds} s, so the server continues without "
            + "the lock. An instance that starts at the same time could replace the socket. Run lslocks to find the "
            + "process.")]
    public static partial void FolderLocked(this ILogger log, string folder, double seconds);

    [LoggerMessage(18, LogLevel.Warning,
        "Epoll is not available: {Reason}. The server uses the sockets of .NET instead, which need more CPU time.")]
    public static partial void EpollUnavailable(this ILogger log, string reason);

    [LoggerMessage(26, LogLevel.Warning,
        "The shutdown timed out. Aborted requests: {Requests}; connections whose handlers have not returned: "
            + "{Connections}. Raise HostOptions.ShutdownTimeout if requests may take longer.")]
    public static partial void StopTimedOut(this ILogger log, long requests, int connections);

    [LoggerMessage(117, LogLevel.Information,
        "The shutdown waits for running requests: {Requests}; open connections: {Connections}; closed connections "
            + "whose handlers have not returned: {Abandoned}. It ends when they do, or after "
            + "HostOptions.ShutdownTimeout.")]
    public static partial void StopWaits(this ILogger log, long requests, int connections, int abandoned);

    [LoggerMessage(28, LogLevel.Debug,
        "The system cannot close the accept queue of {EndPoint} before its socket. A connection that arrives just "
            + "before the socket closes is reset.")]
    public static partial void AcceptQueueOpen(this ILogger log, EndPoint endPoint);

    [LoggerMessage(29, LogLevel.Error,
        "The server accepted a connection to {EndPoint}, failed to start it, and closed it.")]
    public static partial void ConnectionStartFailed(this ILogger log, EndPoint endPoint, Exception exception);

    [LoggerMessage(20, LogLevel.Debug, OfConnection + "Closed because of a protocol error: {Error}.")]
    public static partial void ProtocolError(this ILogger log, string connectionId, ProtocolError error);

    [LoggerMessage(21, LogLevel.Warning,
        "A FastCGI endpoint received {Protocol} from {RemoteEndPoint} ({Count} since the last such message). If that "
            + "is the web server, configure it for FastCGI, for example with fastcgi_pass instead of proxy_pass, "
            + "uwsgi_pass or scgi_pass in nginx. See " + Docs + "troubleshooting.md#400-bad-request.")]
    public static partial void WrongProtocol(this ILogger log, string protocol, string remoteEndPoint, long count);

    [LoggerMessage(22, LogLevel.Debug, OfConnection + "The web server aborted request {RequestId}.")]
    public static partial void AbortRequestReceived(this ILogger log, string connectionId, int requestId);

    [LoggerMessage(23, LogLevel.Warning,
        "The server rejected connections ({Count} since the last such message) because MaxConcurrentConnections is "
            + "reached or the server is stopping. Raise FastCgi:Limits:MaxConcurrentConnections if the web server "
            + "needs more.")]
    public static partial void ConnectionRejected(this ILogger log, long count);

    [LoggerMessage(24, LogLevel.Debug, "The shutdown timed out; connections to abort: {Count}.")]
    public static partial void ConnectionsNotClosedInTime(this ILogger log, int count);

    [LoggerMessage(25, LogLevel.Debug, OfConnection + "Aborted because the server is stopping.")]
    public static partial void ConnectionAborted(this ILogger log, string connectionId);

    [LoggerMessage(35, LogLevel.Warning,
        "The server refuses requests in the role {Role} because it is not in FastCgiServerOptions.Roles. Add the role "
            + "there, or remove it from the configuration of the web server.")]
    public static partial void RoleNotServed(this ILogger log, FastCgiRole role);

    [LoggerMessage(27, LogLevel.Warning,
        "The server refused connections to {EndPoint} ({Count} since the last such message, most recently from "
            + "{Peer}) because the endpoint's AllowedAddresses, AllowedUsers or AllowedGroups, or the variable "
            + "FCGI_WEB_SERVER_ADDRS, do not allow the peer. If the peer is the web server, add it there. See "
            + Docs + "troubleshooting.md#502-bad-gateway.")]
    public static partial void PeerRefused(this ILogger log, EndPoint endPoint, long count, string peer);

    [LoggerMessage(88, LogLevel.Debug,
        OfRequest + "The request body arrives more slowly than {Rate} bytes per second (MinRequestBodyDataRate), so "
            + "the application's next read fails with status 408.")]
    public static partial void RequestBodyTooSlow(
        this ILogger log, string connectionId, string traceIdentifier, double rate);

    [LoggerMessage(89, LogLevel.Warning,
        "Requests got a 503 ({Count} since the last such message) because they waited for longer than "
            + "RequestQueueTimeout ({Timeout}) while MaxConcurrentRequests ({Limit}) was reached. Make the application "
            + "faster, or raise FastCgi:Limits:MaxConcurrentRequests. To reject requests sooner, lower "
            + "FastCgi:Limits:RequestQueueLimit. See " + Docs + "troubleshooting.md#503-service-unavailable.")]
    public static partial void RequestsWaitedTooLong(this ILogger log, long count, long? limit, TimeSpan? timeout);
}
