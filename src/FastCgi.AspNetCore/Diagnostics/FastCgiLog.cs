using System.Net;
using FastCgi.AspNetCore.Protocol;
using Microsoft.Extensions.Logging;

namespace FastCgi.AspNetCore.Diagnostics;

/// <summary>
/// All log messages. Ids: 1–19 server, 20–39 connections, 40–59 requests, 60–79 responses, 80–99 start, 100–119 doctor; never reuse one.
/// Client and web-server errors are logged at Debug; problems an operator can fix at Warning, with the fix, at most once a minute; errors of the
/// application and of this server at Error.
/// </summary>
internal static partial class FastCgiLog
{
    public const int AuthorizationAbsentId = 59;
    public const int EventStreamMayBeHeldId = 66;
    public const int SchemeNotPassedId = 100;
    public const int HostNotPassedId = 101;
    public const int ConnectionsNotKeptId = 102;
    public const int DescriptorsNearLimitId = 103;
    public const int ThreadPoolStarvedId = 104;
    public const int HandOversTooFrequentId = 105;
    public const int UserNotTakenId = 110;
    public const int RequestsGivenUpId = 112;

    [LoggerMessage(1, LogLevel.Debug, "A connection to {EndPoint} was lost before it was accepted ({Count} since the last such message).", EventName = "AcceptFailed")]
    public static partial void AcceptFailed(this ILogger log, EndPoint endPoint, long count, Exception exception);

    [LoggerMessage(2, LogLevel.Warning, "The server cannot accept connections to {EndPoint}: {Reason}. Failed attempts since the last such message: {Attempts}; connections closed without an answer, for which the web server answers 502: {Closed}; the others wait in the backlog and are retried every 100 ms. {Advice} See docs/troubleshooting.md#resource-temporarily-unavailable.", EventName = "AcceptOutOfResources")]
    public static partial void AcceptOutOfResources(this ILogger log, EndPoint endPoint, string reason, long attempts, long closed, string advice);

    [LoggerMessage(3, LogLevel.Critical, "The listener of {EndPoint} failed, so the server accepts no more connections on it. Restart the application.", EventName = "AcceptLoopFailed")]
    public static partial void AcceptLoopFailed(this ILogger log, EndPoint endPoint, Exception exception);

    [LoggerMessage(4, LogLevel.Information, "The server ignores {Addresses} from HTTP_PORTS or HTTPS_PORTS, because a FastCGI endpoint is configured. To serve HTTP too, add the addresses to urls.", EventName = "PortsDropped")]
    public static partial void PortsDropped(this ILogger log, string addresses);

    [LoggerMessage(EventId = 5, EventName = "OnlyHttp", Message = "No FastCGI endpoint is configured, so the application serves only HTTP, with Kestrel. Add an endpoint with --urls fastcgi://127.0.0.1:9000 or in the section FastCgi:Endpoints.")]
    public static partial void OnlyHttp(this ILogger log, LogLevel level);

    [LoggerMessage(6, LogLevel.Debug, "Listening on {Address}.", EventName = "Listening")]
    public static partial void Listening(this ILogger log, string address);

    [LoggerMessage(80, LogLevel.Warning, "{Reason} The application is in Development and serves HTTP, so it starts without this endpoint of {Origin}.", EventName = "EndpointLeftOut")]
    public static partial void EndpointLeftOut(this ILogger log, string origin, string reason);

    [LoggerMessage(81, LogLevel.Warning, "The SendFile folder {Folder} does not exist, or the application cannot access it, so the web server sends no files from it. Create the folder, or correct FastCgi:SendFile:Roots.", EventName = "SendFileFolderMissing")]
    public static partial void SendFileFolderMissing(this ILogger log, string folder);

    [LoggerMessage(82, LogLevel.Information, "Kestrel options that also apply to FastCGI, unless FastCGI options override them: {Taken}. Kestrel options without effect on FastCGI: {Meaningless}.", EventName = "KestrelOptionsTaken")]
    public static partial void KestrelOptionsTaken(this ILogger log, string taken, string meaningless);

    [LoggerMessage(83, LogLevel.Warning, "The Kestrel options could not be read, so none of them applies to FastCGI. Correct the code that sets them, or set the FastCGI options instead.", EventName = "KestrelOptionsUnreadable")]
    public static partial void KestrelOptionsUnreadable(this ILogger log, Exception exception);

    [LoggerMessage(84, LogLevel.Information, "{Server} is installed on this machine. To serve {Address}, put this into {File} and run {Command}\n\n{Block}\n", EventName = "WebServerFound")]
    public static partial void WebServerFound(this ILogger log, string server, string address, string file, string command, string block);

    [LoggerMessage(85, LogLevel.Information, "This machine does not have the address {Address}, one of the two addresses of localhost. The application starts without it.", EventName = "AddressAbsent")]
    public static partial void AddressAbsent(this ILogger log, string address);

    [LoggerMessage(86, LogLevel.Warning, "FastCGI is not served, because Kestrel was registered after it and the last registered server is used. Call UseFastCgi after UseKestrel, or replace UseKestrel with ConfigureKestrel.", EventName = "KestrelTookOver")]
    public static partial void KestrelTookOver(this ILogger log);

    [LoggerMessage(87, LogLevel.Debug, @"Connection id ""{ConnectionId}"": The web server accepted no data for {Timeout} (SendTimeout). The connection is reset and its requests are aborted.", EventName = "ResponseNotTaken")]
    public static partial void ResponseNotTaken(this ILogger log, string connectionId, TimeSpan? timeout);

    [LoggerMessage(94, LogLevel.Warning, "The server closed connections to {EndPoint} after accepting them ({Count} since the last such message), because the system cannot watch them for input: {Reason}. {Advice}", EventName = "ConnectionNotWatched")]
    public static partial void ConnectionNotWatched(this ILogger log, EndPoint endPoint, long count, string reason, string advice);

    [LoggerMessage(95, LogLevel.Error, "An event loop cannot wait for its connections: {Reason}. It retries every 10 ms; failures since the last such message: {Count}.", EventName = "WaitFailed")]
    public static partial void WaitFailed(this ILogger log, string reason, long count);

    [LoggerMessage(96, LogLevel.Warning, "The content root {ContentRoot} has no wwwroot folder, but {BaseDirectory} has one, so static files are not found. Set WorkingDirectory={BaseDirectory} in the systemd unit, or start the application with --contentRoot {BaseDirectory}.", EventName = "WebRootMissing")]
    public static partial void WebRootMissing(this ILogger log, string contentRoot, string baseDirectory);

    [LoggerMessage(97, LogLevel.Warning, "The application uses HTTPS redirection, but the HTTPS port is unknown, so requests over http are not redirected. Set ASPNETCORE_HTTPS_PORT=443, or let the web server redirect them.", EventName = "HttpsPortUnknown")]
    public static partial void HttpsPortUnknown(this ILogger log);

    [LoggerMessage(19, LogLevel.Warning, "The system has no more threads for handlers that block or compute, apart from a reserve for .NET, so requests wait for one of the existing threads ({Count}). Raise TasksMax= of the systemd unit, the limit of the container (--pids-limit) or ulimit -u, or lower FastCgi:Transport:MaxBlockingThreads.", EventName = "ThreadsOutOfResources")]
    public static partial void ThreadsOutOfResources(this ILogger log, int count, Exception? exception);

    [LoggerMessage(8, LogLevel.Warning, "The server ignores the sockets that LISTEN_FDS announces: {Reason}.", EventName = "InheritedSocketsIgnored")]
    public static partial void InheritedSocketsIgnored(this ILogger log, string reason);

    [LoggerMessage(9, LogLevel.Information, "There was no request for {Time} (FastCgi:IdleExit), so the application stops.", EventName = "IdleExit")]
    public static partial void IdleExit(this ILogger log, TimeSpan time);

    [LoggerMessage(11, LogLevel.Warning, "Anyone who can reach {Address} can send requests with any client address and user, and the application trusts them. Set AllowedAddresses of the endpoint to the addresses of the web server, or listen on 127.0.0.1 or a unix socket.", EventName = "OpenToEverybody")]
    public static partial void OpenToEverybody(this ILogger log, string address);

    [LoggerMessage(30, LogLevel.Information, "{Path} accepts connections from {Who}.", EventName = "SocketAccess")]
    public static partial void SocketAccess(this ILogger log, string path, string who);

    [LoggerMessage(31, LogLevel.Warning, "{Path} accepts connections only from {Who}. No known web-server user on this machine ({Users}) can connect: {Obstacle}. See docs/troubleshooting.md#permission-denied. {Advice}", EventName = "SocketOutOfReach")]
    public static partial void SocketOutOfReach(this ILogger log, string path, string who, string users, string obstacle, string advice);

    [LoggerMessage(32, LogLevel.Warning, "ASPNETCORE_FORWARDEDHEADERS_ENABLED is set, so any client can forge its address and scheme with X-Forwarded-For and X-Forwarded-Proto. Remove the variable. Behind a load balancer, configure the web server to trust only the load balancer's headers.", EventName = "ForwardedHeadersEnabled")]
    public static partial void ForwardedHeadersEnabled(this ILogger log);

    [LoggerMessage(12, LogLevel.Warning, "Could not notify systemd, which may consider the service failed or hung.", EventName = "NotifyFailed")]
    public static partial void NotifyFailed(this ILogger log, Exception exception);

    [LoggerMessage(13, LogLevel.Warning, "The system limits the backlog of {Address} to {Limit} connections instead of {Backlog}, so the web server may answer 502 during a burst. Raise net.core.somaxconn, or lower Backlog of the endpoint. See docs/troubleshooting.md#resource-temporarily-unavailable.", EventName = "BacklogCut")]
    public static partial void BacklogCut(this ILogger log, int limit, int backlog, string address);

    [LoggerMessage(14, LogLevel.Error, "A thread or callback of the server failed. The affected request or connection was terminated; the server continues.", EventName = "ServerFailed")]
    public static partial void ServerFailed(this ILogger log, Exception exception);

    [LoggerMessage(15, LogLevel.Error, "A shutdown step failed: {Step}. The remaining steps continue.", EventName = "StopStepFailed")]
    public static partial void StopStepFailed(this ILogger log, string step, Exception exception);

    [LoggerMessage(16, LogLevel.Warning, "Another process has locked the folder {Folder} for more than {Seconds} s, so the server continues without the lock. An instance that starts at the same moment could replace the socket. Run lslocks to find the process.", EventName = "FolderLocked")]
    public static partial void FolderLocked(this ILogger log, string folder, double seconds);

    [LoggerMessage(17, LogLevel.Warning, "The socket {Path} could not be removed; the next start replaces it. Allow the user of the process to write to the folder, for example with RuntimeDirectory= in the systemd unit.", EventName = "SocketFileLeft")]
    public static partial void SocketFileLeft(this ILogger log, string path, Exception exception);

    [LoggerMessage(18, LogLevel.Warning, "The epoll engine cannot start: {Reason}. The server uses the Socket engine instead, which needs more CPU time. If that is intended, set FastCgi:Transport:Engine to Socket.", EventName = "EpollUnavailable")]
    public static partial void EpollUnavailable(this ILogger log, string reason);

    [LoggerMessage(26, LogLevel.Warning, "The shutdown timed out. Requests aborted: {Requests}; connections left open because the application does not return: {Connections}. Raise HostOptions.ShutdownTimeout if requests may take longer.", EventName = "StopTimedOut")]
    public static partial void StopTimedOut(this ILogger log, long requests, int connections);

    [LoggerMessage(28, LogLevel.Debug, "The system cannot close the accept queue of {EndPoint} before its socket. A connection that arrives at that moment is reset.", EventName = "AcceptQueueOpen")]
    public static partial void AcceptQueueOpen(this ILogger log, EndPoint endPoint);

    [LoggerMessage(29, LogLevel.Error, "The server accepted a connection to {EndPoint}, failed to start it, and closed it.", EventName = "ConnectionStartFailed")]
    public static partial void ConnectionStartFailed(this ILogger log, EndPoint endPoint, Exception exception);

    [LoggerMessage(20, LogLevel.Debug, @"Connection id ""{ConnectionId}"": Closed because of a protocol error: {Error}.", EventName = "ProtocolError")]
    public static partial void ProtocolError(this ILogger log, string connectionId, ProtocolError error);

    [LoggerMessage(21, LogLevel.Warning, "A FastCGI endpoint received {Protocol} from {RemoteEndPoint} ({Count} since the last such message). If that is the web server, configure it for FastCGI, such as fastcgi_pass instead of proxy_pass in nginx. See docs/troubleshooting.md#400-bad-request.", EventName = "WrongProtocol")]
    public static partial void WrongProtocol(this ILogger log, string protocol, string remoteEndPoint, long count);

    [LoggerMessage(22, LogLevel.Debug, @"Connection id ""{ConnectionId}"": The web server aborted request {RequestId}.", EventName = "AbortRequestReceived")]
    public static partial void AbortRequestReceived(this ILogger log, string connectionId, int requestId);

    [LoggerMessage(23, LogLevel.Warning, "The server rejected connections ({Count} since the last such message), because MaxConcurrentConnections are open or the server is stopping. Raise FastCgi:Limits:MaxConcurrentConnections if the web server needs more.", EventName = "ConnectionRejected")]
    public static partial void ConnectionRejected(this ILogger log, long count);

    [LoggerMessage(24, LogLevel.Debug, "The shutdown timed out; connections to abort: {Count}.", EventName = "ConnectionsNotClosedInTime")]
    public static partial void ConnectionsNotClosedInTime(this ILogger log, int count);

    [LoggerMessage(25, LogLevel.Debug, @"Connection id ""{ConnectionId}"": Aborted because the server is stopping.", EventName = "ConnectionAborted")]
    public static partial void ConnectionAborted(this ILogger log, string connectionId);

    [LoggerMessage(35, LogLevel.Warning, "A web server sends requests in the role {Role}, which the server refuses because it is not in FastCgiServerOptions.Roles. Add the role there, or remove it from the configuration of the web server.", EventName = "RoleNotServed")]
    public static partial void RoleNotServed(this ILogger log, FastCgiRole role);

    [LoggerMessage(27, LogLevel.Warning, "The server refused connections to {EndPoint} ({Count} since the last such message, the last from {Peer}), because {Setting} does not allow the peer. If it is the web server, add it there. See docs/troubleshooting.md#502-bad-gateway.", EventName = "PeerRefused")]
    public static partial void PeerRefused(this ILogger log, EndPoint endPoint, long count, string peer, string setting);

    [LoggerMessage(40, LogLevel.Error, @"Connection id ""{ConnectionId}"", Request id ""{TraceIdentifier}"": An unhandled exception was thrown by the application.", EventName = "ApplicationError")]
    public static partial void ApplicationError(this ILogger log, string connectionId, string traceIdentifier, Exception exception);

    [LoggerMessage(41, LogLevel.Debug, @"Connection id ""{ConnectionId}"", Request id ""{TraceIdentifier}"": The request was aborted by the client.", EventName = "RequestAborted")]
    public static partial void RequestAborted(this ILogger log, string connectionId, string traceIdentifier);

    [LoggerMessage(42, LogLevel.Information, @"Connection id ""{ConnectionId}"", Request id ""{TraceIdentifier}"": The application aborted the request.", EventName = "ApplicationAborted")]
    public static partial void ApplicationAborted(this ILogger log, string connectionId, string traceIdentifier);

    [LoggerMessage(43, LogLevel.Debug, @"Connection id ""{ConnectionId}"": Request {RequestId} was rejected with status {StatusCode}: {Reason}", EventName = "RequestRejected")]
    public static partial void RequestRejected(this ILogger log, string connectionId, int requestId, int statusCode, string reason);

    [LoggerMessage(44, LogLevel.Error, "A callback of RequestAborted threw an exception.", EventName = "CancellationCallbackFailed")]
    public static partial void CancellationCallbackFailed(this ILogger log, Exception exception);

    [LoggerMessage(45, LogLevel.Error, @"Connection id ""{ConnectionId}"", Request id ""{TraceIdentifier}"": The host failed to dispose the context of the request.", EventName = "DisposeContextFailed")]
    public static partial void DisposeContextFailed(this ILogger log, string connectionId, string traceIdentifier, Exception exception);

    [LoggerMessage(46, LogLevel.Debug, @"Connection id ""{ConnectionId}"", Request id ""{TraceIdentifier}"": The request is invalid and answered {StatusCode}.", EventName = "BadRequest")]
    public static partial void BadRequest(this ILogger log, string connectionId, string traceIdentifier, int statusCode, Exception exception);

    [LoggerMessage(47, LogLevel.Error, @"Connection id ""{ConnectionId}"", Request id ""{TraceIdentifier}"": The server failed to end the request.", EventName = "RequestEndFailed")]
    public static partial void RequestEndFailed(this ILogger log, string connectionId, string traceIdentifier, Exception exception);

    [LoggerMessage(48, LogLevel.Warning, "Requests were answered 413 ({Count} since the last such message), because their bodies exceed MaxRequestBodySize, {Limit} bytes. To accept them, raise FastCgi:Limits:MaxRequestBodySize, or add [RequestSizeLimit] to the endpoint. See docs/troubleshooting.md#413-content-too-large.", EventName = "RequestBodyTooLarge")]
    public static partial void RequestBodyTooLarge(this ILogger log, long count, long? limit);

    [LoggerMessage(50, LogLevel.Debug, "The client certificate is hidden from the application, because SSL_CLIENT_VERIFY is '{Verdict}': the web server has not verified it, or does not pass the variable.", EventName = "ClientCertificateNotVerified")]
    public static partial void ClientCertificateNotVerified(this ILogger log, string? verdict);

    [LoggerMessage(51, LogLevel.Debug, "The client certificate in {Parameter} is neither PEM nor base64-encoded DER.", EventName = "ClientCertificateUnreadable")]
    public static partial void ClientCertificateUnreadable(this ILogger log, string parameter);

    [LoggerMessage(52, LogLevel.Debug, "The user in {UserParameter} is ignored, because {TypeParameter} is absent: the web server may not have authenticated the user.", EventName = "UserWithoutAuthenticationType")]
    public static partial void UserWithoutAuthenticationType(this ILogger log, string userParameter, string typeParameter);

    [LoggerMessage(55, LogLevel.Information, @"Connection id ""{ConnectionId}"", Request id ""{TraceIdentifier}"": The application left {Length} bytes of the body unread for UnreadBodyTimeout, which blocked other requests on the connection. The rest of the body is dropped.", EventName = "RequestBodyRefused")]
    public static partial void RequestBodyRefused(this ILogger log, string connectionId, string traceIdentifier, long length);

    [LoggerMessage(88, LogLevel.Debug, @"Connection id ""{ConnectionId}"", Request id ""{TraceIdentifier}"": The request body arrives more slowly than {Rate} bytes per second (MinRequestBodyDataRate), so the application's next read fails with status 408.", EventName = "RequestBodyTooSlow")]
    public static partial void RequestBodyTooSlow(this ILogger log, string connectionId, string traceIdentifier, double rate);

    [LoggerMessage(57, LogLevel.Warning, "Requests were answered 404 ({Count} since the last such message, the last for {Target}), because their path does not begin with the path base '{PathBase}' from {Source}. Set the path base to the path of the location: fastcgi_param PATH_BASE /app; for location /app/ in nginx, SetEnv PATH_BASE /app for <Location /app> in Apache, or FastCgi:PathBase=/app for any web server. See docs/troubleshooting.md#404-not-found.", EventName = "PathBaseNotMatched")]
    public static partial void PathBaseNotMatched(this ILogger log, long count, string target, string pathBase, string source);

    [LoggerMessage(58, LogLevel.Warning, "The application redirected requests to https ({Count} since the last such message) that the web server reported as http although {Evidence} indicates https, so clients may be in a redirect loop. Configure the web server to pass the scheme, only for requests from the load balancer: fastcgi_param HTTPS on; in nginx, SetEnv HTTPS on in Apache, mod_extforward in lighttpd, set-param REQUEST_SCHEME https in HAProxy ('Behind a load balancer' in docs/front-ends). Without a load balancer, the client forged the header. See docs/troubleshooting.md#redirect-loop.", EventName = "RedirectToHttps")]
    public static partial void RedirectToHttps(this ILogger log, long count, string evidence);

    [LoggerMessage(AuthorizationAbsentId, LogLevel.Information, "A request without Authorization was answered 401; {WebServer} drops that header by default. If clients send it, add {Line} unless it is already there. See docs/troubleshooting.md#401-unauthorized.", EventName = "AuthorizationAbsent")]
    public static partial void AuthorizationAbsent(this ILogger log, string webServer, string line);

    [LoggerMessage(EventStreamMayBeHeldId, LogLevel.Information, "The application sends server-sent events; {WebServer} buffers small parts of a response by default. If events arrive late, add {Line} unless it is already there. See docs/troubleshooting.md#late-events.", EventName = "EventStreamMayBeHeld")]
    public static partial void EventStreamMayBeHeld(this ILogger log, string webServer, string line);

    [LoggerMessage(60, LogLevel.Debug, @"Connection id ""{ConnectionId}"", Request id ""{TraceIdentifier}"": The application wrote a body of {Length} bytes in response to HEAD; it is not sent.", EventName = "HeadBodyWritten")]
    public static partial void HeadBodyWritten(this ILogger log, string connectionId, string traceIdentifier, long length);

    [LoggerMessage(53, LogLevel.Warning, "The web server does not pass {Parameters}, so {Result} ({Count} since the last such message). {Advice} See docs/troubleshooting.md#400-bad-request.", EventName = "ParametersMissing")]
    public static partial void ParametersMissing(this ILogger log, string parameters, long count, string result, string advice);

    [LoggerMessage(54, LogLevel.Warning, "HTTP_HOST is '{Host}' without a port although the web server was reached on port {Port} ({Count} since the last such message), so absolute redirects and links lack the port. If clients use port {Port}, add after include fastcgi_params; in nginx: fastcgi_param HTTP_HOST $host:$server_port; Otherwise, as behind a load balancer or a port mapping, pass the port that clients use: fastcgi_param SERVER_PORT 443; (HAProxy: set-param SERVER_PORT 443). See docs/troubleshooting.md#redirects-to-another-port.", EventName = "HostWithoutPort")]
    public static partial void HostWithoutPort(this ILogger log, string? port, string host, long count);

    [LoggerMessage(56, LogLevel.Warning, "Requests were answered 503 ({Count} since the last such message), because MaxConcurrentRequests ({Limit}) were active and the queue was full (RequestQueueLimit: {Queue}). Raise FastCgi:Limits:MaxConcurrentRequests, or let more requests wait with FastCgi:Limits:RequestQueueLimit. See docs/troubleshooting.md#503-service-unavailable.", EventName = "RequestsRefused")]
    public static partial void RequestsRefused(this ILogger log, long count, long? limit, int queue);

    [LoggerMessage(89, LogLevel.Warning, "Requests were answered 503 ({Count} since the last such message), because they waited for RequestQueueTimeout ({Timeout}) while MaxConcurrentRequests ({Limit}) were active. Make the application faster, or raise FastCgi:Limits:MaxConcurrentRequests; to refuse requests sooner, lower FastCgi:Limits:RequestQueueLimit. See docs/troubleshooting.md#503-service-unavailable.", EventName = "RequestsWaitedTooLong")]
    public static partial void RequestsWaitedTooLong(this ILogger log, long count, long? limit, TimeSpan? timeout);

    [LoggerMessage(61, LogLevel.Warning, @"Connection id ""{ConnectionId}"", Request id ""{TraceIdentifier}"": The response headers {Names} belong to the web server and are not sent ({Count} since the last such message). Remove the code that sets them.", EventName = "HeadersDropped")]
    public static partial void HeadersDropped(this ILogger log, string connectionId, string traceIdentifier, string names, long count);

    [LoggerMessage(62, LogLevel.Debug, @"Connection id ""{ConnectionId}"", Request id ""{TraceIdentifier}"": The web server sends the file {Path} as {Target}.", EventName = "FileOffloaded")]
    public static partial void FileOffloaded(this ILogger log, string connectionId, string traceIdentifier, string path, string target);

    [LoggerMessage(63, LogLevel.Debug, @"Connection id ""{ConnectionId}"", Request id ""{TraceIdentifier}"": The application sends the file {Path} itself: {Obstacle}.", EventName = "FileStreamed")]
    public static partial void FileStreamed(this ILogger log, string connectionId, string traceIdentifier, string path, string obstacle);

    [LoggerMessage(64, LogLevel.Debug, "The response headers have {Length} bytes. nginx answers 502 if they exceed 4 KiB, unless its configuration contains: fastcgi_buffer_size {Size}k; fastcgi_buffers 8 {Size}k;", EventName = "LargeResponseHead")]
    public static partial void LargeResponseHead(this ILogger log, int length, int size);

    [LoggerMessage(65, LogLevel.Warning, "The response headers have {Length} bytes; by default, nginx accepts 4 KiB, answers 502 and logs 'upstream sent too big header'. Add these lines unless they are already there: fastcgi_buffer_size {Size}k; fastcgi_buffers 8 {Size}k; See docs/troubleshooting.md#response-headers-that-are-too-large.", EventName = "HeadTooLargeForNginx")]
    public static partial void HeadTooLargeForNginx(this ILogger log, int length, int size);

    [LoggerMessage(SchemeNotPassedId, LogLevel.Warning, "{WebServer} does not pass the scheme, so the application treats requests as http although they came over TLS ({Count} of the last {Samples} sampled requests). Add {Line}. See docs/troubleshooting.md#redirect-loop.", EventName = "SchemeNotPassed")]
    public static partial void SchemeNotPassed(this ILogger log, string webServer, long count, long samples, string line);

    [LoggerMessage(HostNotPassedId, LogLevel.Warning, "{WebServer} does not pass HTTP_HOST ({Count} of the last {Samples} sampled requests), so the application creates URLs with the server name from its configuration. Add {Line}. See docs/troubleshooting.md#redirects-to-another-port.", EventName = "HostNotPassed")]
    public static partial void HostNotPassed(this ILogger log, string webServer, long count, long samples, string line);

    [LoggerMessage(ConnectionsNotKeptId, LogLevel.Warning, "{WebServer} opens a connection for each request ({Rate:F0} per second), which costs several times as much as the request. Add {Line}. See docs/troubleshooting.md#resource-temporarily-unavailable.", EventName = "ConnectionsNotKept")]
    public static partial void ConnectionsNotKept(this ILogger log, string webServer, double rate, string line);

    [LoggerMessage(DescriptorsNearLimitId, LogLevel.Warning, "The process has {Count} of at most {Limit} file descriptors open; without a free one, connections are refused and files cannot be opened. Raise LimitNOFILE= of the systemd unit, or ulimit -n. See docs/troubleshooting.md#resource-temporarily-unavailable.", EventName = "DescriptorsNearLimit")]
    public static partial void DescriptorsNearLimit(this ILogger log, long count, long limit);

    [LoggerMessage(ThreadPoolStarvedId, LogLevel.Warning, "{Count} work items have been waiting for a .NET thread-pool thread for {Seconds} s; handlers probably block its threads after an await. Await instead of blocking, or add \"System.Threading.ThreadPool.MinThreads\": {Threads} to runtimeconfig.template.json. See docs/troubleshooting.md#slow-answers.", EventName = "ThreadPoolStarved")]
    public static partial void ThreadPoolStarved(this ILogger log, long count, int seconds, int threads);

    [LoggerMessage(HandOversTooFrequentId, LogLevel.Warning, "Handlers blocked event-loop threads {Rate:F0} times per second, and their paths do not predict which ones will, so the loops keep moving to other threads. Set FastCgi:Transport:ApplicationScheduling to ThreadPool. See docs/troubleshooting.md#slow-answers.", EventName = "HandOversTooFrequent")]
    public static partial void HandOversTooFrequent(this ILogger log, double rate);

    [LoggerMessage(UserNotTakenId, LogLevel.Information, "The user in {UserParameter} is ignored, because {TypeParameter} is absent: {WebServer} passes any name that a client sends, verified or not. Only if the web server authenticates users, add {Line}. See docs/identity.md#the-user.", EventName = "UserNotTaken")]
    public static partial void UserNotTaken(this ILogger log, string userParameter, string typeParameter, string webServer, string line);

    [LoggerMessage(111, LogLevel.Warning, "The Data Protection keys are only in the memory of this process, which has no home folder, so each restart logs users out and invalidates open forms. Add StateDirectory=hello to the systemd unit, and AddDataProtection().SetApplicationName(\"hello\").PersistKeysToFileSystem(new DirectoryInfo(\"/var/lib/hello/keys\")) to the application. See docs/troubleshooting.md#ephemeral-key-repository.", EventName = "KeysInMemory")]
    public static partial void KeysInMemory(this ILogger log);

    [LoggerMessage(RequestsGivenUpId, LogLevel.Warning, "The last {Count} requests that were aborted without an answer were all {Seconds:F0} s old: a timeout, most likely of {WebServer}, ends them, and clients receive a 504. If answers need more time, add {Line}; otherwise, find out what they wait for. See docs/troubleshooting.md#504-gateway-timeout.", EventName = "RequestsGivenUp")]
    public static partial void RequestsGivenUp(this ILogger log, int count, double seconds, string webServer, string line);

    [LoggerMessage(113, LogLevel.Information, "The status at {Path} is visible to {Audience}.", EventName = "StatusShown")]
    public static partial void StatusShown(this ILogger log, string path, string audience);

    [LoggerMessage(114, LogLevel.Warning, "The status at {Path} is visible to no one: outside Development, the application must specify who may see it. Add .RequireAuthorization(\"policy\") to MapFastCgiStatus(), or .AllowAnonymous() if the web server restricts access to the path.", EventName = "StatusNotShown")]
    public static partial void StatusNotShown(this ILogger log, string path);

    [LoggerMessage(107, LogLevel.Warning, @"Connection id ""{ConnectionId}"", request {Sequence}: {Method} {Path} from {Client} has taken {Seconds:F0} s and is {Activity} ({BytesRead} bytes read, {BytesWritten} written). Slow requests not logged since the last such message: {Suppressed}.", EventName = "SlowRequest")]
    public static partial void SlowRequest(
        this ILogger log, string connectionId, uint sequence, string method, string path, string client, double seconds, string activity, long bytesRead, long bytesWritten, long suppressed);

    [LoggerMessage(108, LogLevel.Trace, "{Record}", EventName = "Record")]
    public static partial void Record(this ILogger log, string record);

    [LoggerMessage(109, LogLevel.Trace, "Records not logged, because they arrived faster than the log could write them: {Count}.", EventName = "RecordsLost")]
    public static partial void RecordsLost(this ILogger log, long count);
}
