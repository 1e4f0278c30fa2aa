using System.Net;
using FastCgi.AspNetCore.Protocol;
using Microsoft.Extensions.Logging;

namespace FastCgi.AspNetCore.Diagnostics;

/// <summary>
/// All log messages. Ids: 1–19 the server, 20–39 connections, 40–59 requests, 60–79 responses; never used twice, never renumbered.
/// What the web server or its client does is Debug; what an operator can mend is Warning, with the line to add, once a minute; what the
/// application or this server does wrong is Error.
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

    [LoggerMessage(1, LogLevel.Debug, "A connection to {EndPoint} was lost before it was accepted; {Count} since the last such message. Reported once a minute.", EventName = "AcceptFailed")]
    public static partial void AcceptFailed(this ILogger log, EndPoint endPoint, long count, Exception exception);

    [LoggerMessage(2, LogLevel.Warning, "Connections to {EndPoint} cannot be accepted: {Reason}. Since the last such message {Attempts} attempts failed, and {Closed} connections were closed without an answer, for which the web server answers 502; those that cannot be closed either wait in the backlog and are tried again every 100 ms. {Advice} See docs/troubleshooting.md#resource-temporarily-unavailable. Reported once a minute.", EventName = "AcceptOutOfResources")]
    public static partial void AcceptOutOfResources(this ILogger log, EndPoint endPoint, string reason, long attempts, long closed, string advice);

    [LoggerMessage(3, LogLevel.Critical, "No further connection is accepted on {EndPoint}: its listener failed.", EventName = "AcceptLoopFailed")]
    public static partial void AcceptLoopFailed(this ILogger log, EndPoint endPoint, Exception exception);

    [LoggerMessage(4, LogLevel.Information, "Not listening on {Addresses}: they come from HTTP_PORTS or HTTPS_PORTS, and there is a FastCGI endpoint. Name them in urls to have both.", EventName = "PortsDropped")]
    public static partial void PortsDropped(this ILogger log, string addresses);

    [LoggerMessage(5, LogLevel.Information, "No FastCGI endpoint is configured, so only HTTP is served, by Kestrel. Add one with --urls fastcgi://127.0.0.1:9000 or in the section FastCgi:Endpoints.", EventName = "OnlyHttp")]
    public static partial void OnlyHttp(this ILogger log);

    [LoggerMessage(6, LogLevel.Debug, "Listening on {Address}.", EventName = "Listening")]
    public static partial void Listening(this ILogger log, string address);

    // 80–99: further ones of the start.
    [LoggerMessage(80, LogLevel.Warning, "{Reason} It is an endpoint of {Origin}. The application is in Development and serves HTTP, so it starts without it.", EventName = "EndpointLeftOut")]
    public static partial void EndpointLeftOut(this ILogger log, string origin, string reason);

    [LoggerMessage(81, LogLevel.Warning, "The folder {Folder} of SendFile does not exist, or the application may not see it, so the web server sends no file of it. Create it, or correct FastCgi:SendFile:Roots.", EventName = "SendFileFolderMissing")]
    public static partial void SendFileFolderMissing(this ILogger log, string folder);

    [LoggerMessage(82, LogLevel.Information, "The application has set options of Kestrel. These count for FastCGI too, unless an option of FastCGI says otherwise: {Taken}. These have no effect on FastCGI: {Meaningless}.", EventName = "KestrelOptionsTaken")]
    public static partial void KestrelOptionsTaken(this ILogger log, string taken, string meaningless);

    [LoggerMessage(83, LogLevel.Warning, "The options of Kestrel could not be read, so that none of them counts for FastCGI. Correct what sets them, or set those of FastCGI.", EventName = "KestrelOptionsUnreadable")]
    public static partial void KestrelOptionsUnreadable(this ILogger log, Exception exception);

    [LoggerMessage(84, LogLevel.Information, "{Server} is on this machine. For {Address}, put this into {File}, and run {Command}\n\n{Block}\n", EventName = "WebServerFound")]
    public static partial void WebServerFound(this ILogger log, string server, string address, string file, string command, string block);

    [LoggerMessage(85, LogLevel.Information, "This machine does not have the address of {Address}, which is one of the two of localhost, so the application starts without it.", EventName = "AddressAbsent")]
    public static partial void AddressAbsent(this ILogger log, string address);

    [LoggerMessage(86, LogLevel.Warning, "FastCGI is not served: Kestrel was registered after it, and the last server counts. Call UseFastCgi after UseKestrel, or set the options of Kestrel with ConfigureKestrel in place of UseKestrel.", EventName = "KestrelTookOver")]
    public static partial void KestrelTookOver(this ILogger log);

    [LoggerMessage(87, LogLevel.Debug, @"Connection id ""{ConnectionId}"": The web server has taken nothing of what there is to send for {Timeout} (SendTimeout), so the connection is reset and its requests are aborted.", EventName = "ResponseNotTaken")]
    public static partial void ResponseNotTaken(this ILogger log, string connectionId, TimeSpan? timeout);

    [LoggerMessage(94, LogLevel.Warning, "{Count} connections to {EndPoint} were accepted and closed since the last such message, because the system does not let the server wait for what comes on them: {Reason}. {Advice} Reported once a minute.", EventName = "ConnectionNotWatched")]
    public static partial void ConnectionNotWatched(this ILogger log, EndPoint endPoint, long count, string reason, string advice);

    [LoggerMessage(95, LogLevel.Error, "A loop cannot wait for its connections: {Reason}; {Count} times since the last such message. It tries again every 10 ms. Reported once a minute.", EventName = "WaitFailed")]
    public static partial void WaitFailed(this ILogger log, string reason, long count);

    [LoggerMessage(19, LogLevel.Warning, "The system has no further thread for handlers that block or compute, but the last, which are for .NET; requests wait for the {Count} that there are. Raise TasksMax= of the systemd unit, the limit of the container (--pids-limit) or ulimit -u, or lower FastCgi:Transport:MaxBlockingThreads. Reported once a minute.", EventName = "ThreadsOutOfResources")]
    public static partial void ThreadsOutOfResources(this ILogger log, int count, Exception? exception);

    [LoggerMessage(8, LogLevel.Warning, "The sockets that LISTEN_FDS tells of are not used: {Reason}.", EventName = "InheritedSocketsIgnored")]
    public static partial void InheritedSocketsIgnored(this ILogger log, string reason);

    [LoggerMessage(9, LogLevel.Information, "There was no request for {Time}, so the application stops (FastCgi:IdleExit).", EventName = "IdleExit")]
    public static partial void IdleExit(this ILogger log, TimeSpan time);

    [LoggerMessage(11, LogLevel.Warning, "Everybody who can reach {Address} can send requests that the application believes to come from the web server, with any client address and user. Set AllowedAddresses of the endpoint to the addresses of the web server, or listen on 127.0.0.1 or a unix socket.", EventName = "OpenToEverybody")]
    public static partial void OpenToEverybody(this ILogger log, string address);

    [LoggerMessage(30, LogLevel.Information, "Who can connect to {Path}: {Who}.", EventName = "SocketAccess")]
    public static partial void SocketAccess(this ILogger log, string path, string who);

    [LoggerMessage(31, LogLevel.Warning, "Who can connect to {Path}: {Who}. None of the users that web servers run as here ({Users}) can: {Obstacle}. See docs/troubleshooting.md#permission-denied. {Advice}", EventName = "SocketOutOfReach")]
    public static partial void SocketOutOfReach(this ILogger log, string path, string who, string users, string obstacle, string advice);

    [LoggerMessage(32, LogLevel.Warning, "ASPNETCORE_FORWARDEDHEADERS_ENABLED is on, so the application believes X-Forwarded-For and X-Forwarded-Proto of any client: each can forge its address and the scheme. Remove the variable. Behind a load balancer, let the web server believe the headers of that alone.", EventName = "ForwardedHeadersEnabled")]
    public static partial void ForwardedHeadersEnabled(this ILogger log);

    [LoggerMessage(12, LogLevel.Warning, "systemd could not be told how the server is, and may take it for one that does not start or does not live. Reported once a minute.", EventName = "NotifyFailed")]
    public static partial void NotifyFailed(this ILogger log, Exception exception);

    [LoggerMessage(13, LogLevel.Warning, "The system holds {Limit} connections to {Address} until they are accepted, not {Backlog}: in a burst of more a web server may answer 502. Raise net.core.somaxconn, or set Backlog of the endpoint. See docs/troubleshooting.md#resource-temporarily-unavailable.", EventName = "BacklogCut")]
    public static partial void BacklogCut(this ILogger log, int limit, int backlog, string address);

    [LoggerMessage(14, LogLevel.Error, "The server failed in one of its own threads or callbacks. What it was about is ended; the server goes on.", EventName = "ServerFailed")]
    public static partial void ServerFailed(this ILogger log, Exception exception);

    [LoggerMessage(15, LogLevel.Error, "The server stops, and this step of it failed: {Step}. The others go on.", EventName = "StopStepFailed")]
    public static partial void StopStepFailed(this ILogger log, string step, Exception exception);

    [LoggerMessage(16, LogLevel.Warning, "Another process has locked the folder {Folder} for more than {Seconds} s, so the server goes on without the lock: an instance that starts at the same moment could take the socket for one that was left behind. lslocks shows the process.", EventName = "FolderLocked")]
    public static partial void FolderLocked(this ILogger log, string folder, double seconds);

    [LoggerMessage(17, LogLevel.Warning, "The socket {Path} could not be removed. It is left there, and the next start replaces it.", EventName = "SocketFileLeft")]
    public static partial void SocketFileLeft(this ILogger log, string path, Exception exception);

    [LoggerMessage(18, LogLevel.Warning, "The epoll engine cannot start, so the Socket engine runs: {Reason}. It needs more processor time. Set FastCgi:Transport:Engine to Socket if that is as it should be.", EventName = "EpollUnavailable")]
    public static partial void EpollUnavailable(this ILogger log, string reason);

    [LoggerMessage(26, LogLevel.Warning, "The time to stop is over: {Requests} requests still ran and were aborted, and {Connections} connections are left open because the application does not return. Raise HostOptions.ShutdownTimeout if requests may take longer.", EventName = "StopTimedOut")]
    public static partial void StopTimedOut(this ILogger log, long requests, int connections);

    [LoggerMessage(28, LogLevel.Debug, "The system does not let {EndPoint} refuse connections before it is closed. One that comes in that instant is reset.", EventName = "AcceptQueueOpen")]
    public static partial void AcceptQueueOpen(this ILogger log, EndPoint endPoint);

    [LoggerMessage(29, LogLevel.Error, "A connection to {EndPoint} was accepted and closed, because the server failed to begin with it.", EventName = "ConnectionStartFailed")]
    public static partial void ConnectionStartFailed(this ILogger log, EndPoint endPoint, Exception exception);

    [LoggerMessage(20, LogLevel.Debug, @"Connection id ""{ConnectionId}"": closed because of a protocol error: {Error}.", EventName = "ProtocolError")]
    public static partial void ProtocolError(this ILogger log, string connectionId, ProtocolError error);

    [LoggerMessage(21, LogLevel.Warning, "{Protocol} was spoken to the FastCGI endpoint by {RemoteEndPoint}: a client or a proxy_pass that should be a fastcgi_pass; {Count} since the last such message. See docs/troubleshooting.md#400-bad-request. Reported once a minute.", EventName = "WrongProtocol")]
    public static partial void WrongProtocol(this ILogger log, string protocol, string remoteEndPoint, long count);

    [LoggerMessage(22, LogLevel.Debug, @"Connection id ""{ConnectionId}"": the web server aborted request {RequestId}.", EventName = "AbortRequestReceived")]
    public static partial void AbortRequestReceived(this ILogger log, string connectionId, int requestId);

    [LoggerMessage(23, LogLevel.Warning, "A connection was rejected, {Count} since the last such message: MaxConcurrentConnections are open, or the server is stopping. Reported once a minute.", EventName = "ConnectionRejected")]
    public static partial void ConnectionRejected(this ILogger log, long count);

    [LoggerMessage(24, LogLevel.Debug, "{Count} connections were not closed in time; they are aborted.", EventName = "ConnectionsNotClosedInTime")]
    public static partial void ConnectionsNotClosedInTime(this ILogger log, int count);

    [LoggerMessage(25, LogLevel.Debug, @"Connection id ""{ConnectionId}"": aborted because the server stops.", EventName = "ConnectionAborted")]
    public static partial void ConnectionAborted(this ILogger log, string connectionId);

    [LoggerMessage(35, LogLevel.Warning, "A web server asks for the role {Role}, which is not in FastCgiServerOptions.Roles; its requests are refused. Reported once.", EventName = "RoleNotServed")]
    public static partial void RoleNotServed(this ILogger log, FastCgiRole role);

    [LoggerMessage(27, LogLevel.Warning, "{Count} connections to {EndPoint} were refused since the last such message, the last of {Peer}: {Setting} does not allow it. If it is the web server, add it there. See docs/troubleshooting.md#502-bad-gateway. Reported once a minute.", EventName = "PeerRefused")]
    public static partial void PeerRefused(this ILogger log, EndPoint endPoint, long count, string peer, string setting);

    [LoggerMessage(40, LogLevel.Error, @"Connection id ""{ConnectionId}"", Request id ""{TraceIdentifier}"": An unhandled exception was thrown by the application.", EventName = "ApplicationError")]
    public static partial void ApplicationError(this ILogger log, string connectionId, string traceIdentifier, Exception exception);

    [LoggerMessage(41, LogLevel.Debug, @"Connection id ""{ConnectionId}"", Request id ""{TraceIdentifier}"": The request was aborted by the client.", EventName = "RequestAborted")]
    public static partial void RequestAborted(this ILogger log, string connectionId, string traceIdentifier);

    [LoggerMessage(42, LogLevel.Information, @"Connection id ""{ConnectionId}"", Request id ""{TraceIdentifier}"": The application aborted the request.", EventName = "ApplicationAborted")]
    public static partial void ApplicationAborted(this ILogger log, string connectionId, string traceIdentifier);

    [LoggerMessage(43, LogLevel.Debug, @"Connection id ""{ConnectionId}"": Request {RequestId} is rejected with status {StatusCode}: {Reason}", EventName = "RequestRejected")]
    public static partial void RequestRejected(this ILogger log, string connectionId, int requestId, int statusCode, string reason);

    [LoggerMessage(44, LogLevel.Error, "A callback of RequestAborted threw an exception.", EventName = "CancellationCallbackFailed")]
    public static partial void CancellationCallbackFailed(this ILogger log, Exception exception);

    [LoggerMessage(45, LogLevel.Error, @"Connection id ""{ConnectionId}"", Request id ""{TraceIdentifier}"": Hosting failed to dispose the context of the request.", EventName = "DisposeContextFailed")]
    public static partial void DisposeContextFailed(this ILogger log, string connectionId, string traceIdentifier, Exception exception);

    [LoggerMessage(46, LogLevel.Debug, @"Connection id ""{ConnectionId}"", Request id ""{TraceIdentifier}"": The request is bad, status {StatusCode}.", EventName = "BadRequest")]
    public static partial void BadRequest(this ILogger log, string connectionId, string traceIdentifier, int statusCode, Exception exception);

    [LoggerMessage(47, LogLevel.Error, @"Connection id ""{ConnectionId}"", Request id ""{TraceIdentifier}"": The server failed to end the request.", EventName = "RequestEndFailed")]
    public static partial void RequestEndFailed(this ILogger log, string connectionId, string traceIdentifier, Exception exception);

    [LoggerMessage(48, LogLevel.Warning, "{Count} requests were answered 413 since the last such message: their bodies are larger than {Limit} bytes, which is MaxRequestBodySize. If the application is to take them, raise FastCgi:Limits:MaxRequestBodySize, or set [RequestSizeLimit] on the endpoint. See docs/troubleshooting.md#413-content-too-large. Reported once a minute.", EventName = "RequestBodyTooLarge")]
    public static partial void RequestBodyTooLarge(this ILogger log, long count, long? limit);

    [LoggerMessage(50, LogLevel.Debug, "The client certificate is not shown to the application, for SSL_CLIENT_VERIFY is '{Verdict}': the web server did not find it valid, or its configuration does not pass the variable.", EventName = "ClientCertificateNotVerified")]
    public static partial void ClientCertificateNotVerified(this ILogger log, string? verdict);

    [LoggerMessage(51, LogLevel.Debug, "The client certificate in {Parameter} is neither PEM nor base64 of DER.", EventName = "ClientCertificateUnreadable")]
    public static partial void ClientCertificateUnreadable(this ILogger log, string parameter);

    [LoggerMessage(52, LogLevel.Debug, "The user in {UserParameter} does not count, because there is no {TypeParameter}: the web server may not have checked who it is.", EventName = "UserWithoutAuthenticationType")]
    public static partial void UserWithoutAuthenticationType(this ILogger log, string userParameter, string typeParameter);

    [LoggerMessage(55, LogLevel.Information, @"Connection id ""{ConnectionId}"", Request id ""{TraceIdentifier}"": The application has left {Length} bytes of the body unread for UnreadBodyTimeout, which holds up other requests of the connection; the rest is refused.", EventName = "RequestBodyRefused")]
    public static partial void RequestBodyRefused(this ILogger log, string connectionId, string traceIdentifier, long length);

    [LoggerMessage(88, LogLevel.Debug, @"Connection id ""{ConnectionId}"", Request id ""{TraceIdentifier}"": The request body comes more slowly than {Rate} bytes a second, which is MinRequestBodyDataRate; what the application reads of it fails with a 408.", EventName = "RequestBodyTooSlow")]
    public static partial void RequestBodyTooSlow(this ILogger log, string connectionId, string traceIdentifier, double rate);

    [LoggerMessage(57, LogLevel.Warning, "{Count} requests since the last such message were answered 404, and their path does not begin with the path base '{PathBase}', which {Source} says, the last of them {Target}. The path base is the path of the location: for location /app/ of nginx, fastcgi_param PATH_BASE /app; for <Location /app> of Apache, SetEnv PATH_BASE /app; for all web servers, FastCgi:PathBase=/app. See docs/troubleshooting.md#404-not-found. Reported once a minute.", EventName = "PathBaseNotMatched")]
    public static partial void PathBaseNotMatched(this ILogger log, long count, string target, string pathBase, string source);

    [LoggerMessage(58, LogLevel.Warning, "The application redirected {Count} requests to https since the last such message. The web server says that they came over http, {Evidence} says https: if that is so, clients are redirected for ever. Let the web server pass the scheme: fastcgi_param HTTPS on; in nginx, SetEnv HTTPS on in Apache, mod_extforward in lighttpd, set-param REQUEST_SCHEME https in HAProxy, for the load balancer's requests alone; docs/front-ends has it under 'Behind a load balancer'. Without a load balancer, a client has made it up. See docs/troubleshooting.md#redirect-loop. Reported once a minute.", EventName = "RedirectToHttps")]
    public static partial void RedirectToHttps(this ILogger log, long count, string evidence);

    [LoggerMessage(AuthorizationAbsentId, LogLevel.Information, "A request without Authorization was answered 401. {WebServer} drops that header by default: if clients send it, and it is not there yet, add {Line}. See docs/troubleshooting.md#401-unauthorized. Reported once.", EventName = "AuthorizationAbsent")]
    public static partial void AuthorizationAbsent(this ILogger log, string webServer, string line);

    [LoggerMessage(EventStreamMayBeHeldId, LogLevel.Information, "The application sends server-sent events. {WebServer} holds small pieces of a response back by default: if it is not there yet, add {Line}. See docs/troubleshooting.md#late-events. Reported once.", EventName = "EventStreamMayBeHeld")]
    public static partial void EventStreamMayBeHeld(this ILogger log, string webServer, string line);

    [LoggerMessage(60, LogLevel.Debug, @"Connection id ""{ConnectionId}"", Request id ""{TraceIdentifier}"": The application wrote {Length} bytes of a body in answer to HEAD; they are not sent.", EventName = "HeadBodyWritten")]
    public static partial void HeadBodyWritten(this ILogger log, string connectionId, string traceIdentifier, long length);

    [LoggerMessage(53, LogLevel.Warning, "The web server does not pass {Parameters}, {Count} requests since the last such message; {Result}. {Advice} See docs/troubleshooting.md#400-bad-request. Reported once a minute.", EventName = "ParametersMissing")]
    public static partial void ParametersMissing(this ILogger log, string parameters, long count, string result, string advice);

    [LoggerMessage(54, LogLevel.Warning, "The web server was reached on port {Port}, and HTTP_HOST is '{Host}', without a port, {Count} requests since the last such message: absolute redirects and links of the application lack it. If clients name port {Port}, add behind include fastcgi_params; of nginx: fastcgi_param HTTP_HOST $host:$server_port; If they do not, because a load balancer or a mapping of ports is before it, name the port that they use: fastcgi_param SERVER_PORT 443; (HAProxy: set-param SERVER_PORT 443). See docs/troubleshooting.md#redirects-to-another-port. Reported once a minute.", EventName = "HostWithoutPort")]
    public static partial void HostWithoutPort(this ILogger log, string? port, string host, long count);

    [LoggerMessage(56, LogLevel.Warning, "{Count} requests were answered 503 since the last such message: {Limit} were under way, which is MaxConcurrentRequests, and {Queue} waited, which is RequestQueueLimit. Raise FastCgi:Limits:MaxConcurrentRequests, or let more of them wait with FastCgi:Limits:RequestQueueLimit. See docs/troubleshooting.md#503-service-unavailable. Reported once a minute.", EventName = "RequestsRefused")]
    public static partial void RequestsRefused(this ILogger log, long count, long? limit, int queue);

    [LoggerMessage(89, LogLevel.Warning, "{Count} requests were answered 503 since the last such message: they waited for {Timeout}, which is RequestQueueTimeout, while {Limit} were under way, which is MaxConcurrentRequests. Make the application faster, or let it work on more at a time with FastCgi:Limits:MaxConcurrentRequests; fewer wait for so long with a smaller FastCgi:Limits:RequestQueueLimit. See docs/troubleshooting.md#503-service-unavailable. Reported once a minute.", EventName = "RequestsWaitedTooLong")]
    public static partial void RequestsWaitedTooLong(this ILogger log, long count, long? limit, TimeSpan? timeout);

    [LoggerMessage(61, LogLevel.Warning, @"Connection id ""{ConnectionId}"", Request id ""{TraceIdentifier}"": The response headers {Names} belong to the web server; they are not sent, {Count} responses since the last such message. Remove what sets them from the application. Reported once a minute.", EventName = "HeadersDropped")]
    public static partial void HeadersDropped(this ILogger log, string connectionId, string traceIdentifier, string names, long count);

    [LoggerMessage(62, LogLevel.Debug, @"Connection id ""{ConnectionId}"", Request id ""{TraceIdentifier}"": The web server sends the file {Path}, as {Target}.", EventName = "FileOffloaded")]
    public static partial void FileOffloaded(this ILogger log, string connectionId, string traceIdentifier, string path, string target);

    [LoggerMessage(63, LogLevel.Debug, @"Connection id ""{ConnectionId}"", Request id ""{TraceIdentifier}"": The file {Path} is not left to the web server: {Obstacle}.", EventName = "FileStreamed")]
    public static partial void FileStreamed(this ILogger log, string connectionId, string traceIdentifier, string path, string obstacle);

    [LoggerMessage(64, LogLevel.Debug, "The header block of a response has {Length} bytes. nginx answers 502 to one of more than 4 KiB, unless its configuration says: fastcgi_buffer_size {Size}k; fastcgi_buffers 8 {Size}k; Reported once a minute for each size.", EventName = "LargeResponseHead")]
    public static partial void LargeResponseHead(this ILogger log, int length, int size);

    [LoggerMessage(65, LogLevel.Warning, "The header block of a response has {Length} bytes. By default, nginx takes 4 KiB, answers 502 and logs 'upstream sent too big header'. Unless it is there already, add: fastcgi_buffer_size {Size}k; fastcgi_buffers 8 {Size}k; See docs/troubleshooting.md#response-headers-that-are-too-large. Reported once for each size.", EventName = "HeadTooLargeForNginx")]
    public static partial void HeadTooLargeForNginx(this ILogger log, int length, int size);

    // 100–119: the doctor, which looks at the traffic and at the process.
    [LoggerMessage(SchemeNotPassedId, LogLevel.Warning, "{WebServer} does not pass the scheme, and {Count} of the last {Samples} requests that were looked at came over TLS: the application takes them for http. Add {Line}. See docs/troubleshooting.md#redirect-loop. Reported once.", EventName = "SchemeNotPassed")]
    public static partial void SchemeNotPassed(this ILogger log, string webServer, long count, long samples, string line);

    [LoggerMessage(HostNotPassedId, LogLevel.Warning, "{WebServer} did not pass HTTP_HOST with {Count} of the last {Samples} requests that were looked at: the application makes URLs with the name of the web server's configuration. Add {Line}. See docs/troubleshooting.md#redirects-to-another-port. Reported once.", EventName = "HostNotPassed")]
    public static partial void HostNotPassed(this ILogger log, string webServer, long count, long samples, string line);

    [LoggerMessage(ConnectionsNotKeptId, LogLevel.Warning, "{WebServer} opens a connection for each request, {Rate:F0} a second: that costs both sides several times what the request does. Add {Line}. See docs/troubleshooting.md#resource-temporarily-unavailable. Reported once.", EventName = "ConnectionsNotKept")]
    public static partial void ConnectionsNotKept(this ILogger log, string webServer, double rate, string line);

    [LoggerMessage(DescriptorsNearLimitId, LogLevel.Warning, "{Count} of the {Limit} descriptors that the process may have are open: without one, connections are refused and files cannot be opened. Raise LimitNOFILE= of the unit, or ulimit -n. See docs/troubleshooting.md#resource-temporarily-unavailable. Reported once.", EventName = "DescriptorsNearLimit")]
    public static partial void DescriptorsNearLimit(this ILogger log, long count, long limit);

    [LoggerMessage(ThreadPoolStarvedId, LogLevel.Warning, "{Count} pieces of work wait for a thread of .NET's pool, and have done so for {Seconds} s: handlers block its threads, behind an await most likely. Await what they wait for, or add \"System.Threading.ThreadPool.MinThreads\": {Threads} to the application's runtimeconfig.template.json. See docs/troubleshooting.md#slow-answers. Reported once.", EventName = "ThreadPoolStarved")]
    public static partial void ThreadPoolStarved(this ILogger log, long count, int seconds, int threads);

    [LoggerMessage(HandOversTooFrequentId, LogLevel.Warning, "Handlers kept the thread of a loop {Rate:F0} times a second, and their paths do not tell which will: each time the loop goes to another thread. Set FastCgi:Transport:ApplicationScheduling to ThreadPool. See docs/troubleshooting.md#slow-answers. Reported once.", EventName = "HandOversTooFrequent")]
    public static partial void HandOversTooFrequent(this ILogger log, double rate);

    [LoggerMessage(UserNotTakenId, LogLevel.Information, "A user in {UserParameter} was not taken, because there is no {TypeParameter}: {WebServer} passes the name that a client says, whether or not it was checked. Where the web server checks it, and nowhere else, add {Line}. See docs/identity.md#the-user. Reported once.", EventName = "UserNotTaken")]
    public static partial void UserNotTaken(this ILogger log, string userParameter, string typeParameter, string webServer, string line);

    [LoggerMessage(111, LogLevel.Warning, "The keys of Data Protection are in the memory of this process alone: users are logged out at each restart, and forms of before are refused. The process has no home folder. Add StateDirectory=hello to the unit, and AddDataProtection().SetApplicationName(\"hello\").PersistKeysToFileSystem(new DirectoryInfo(\"/var/lib/hello/keys\")) to the application. See docs/troubleshooting.md#ephemeral-key-repository.", EventName = "KeysInMemory")]
    public static partial void KeysInMemory(this ILogger log);

    [LoggerMessage(RequestsGivenUpId, LogLevel.Warning, "The last {Count} requests that were given up before they were answered were all {Seconds:F0} s old: a time-out ends them, most likely that of {WebServer}, and clients get a 504. If answers need the time, add {Line}. If not, find what they wait for. See docs/troubleshooting.md#504-gateway-timeout. Reported once.", EventName = "RequestsGivenUp")]
    public static partial void RequestsGivenUp(this ILogger log, int count, double seconds, string webServer, string line);

    [LoggerMessage(113, LogLevel.Information, "The status at {Path} is shown to {Audience}.", EventName = "StatusShown")]
    public static partial void StatusShown(this ILogger log, string path, string audience);

    [LoggerMessage(114, LogLevel.Warning, "The status at {Path} is shown to nobody: outside Development, the application must say who may see it. Add .RequireAuthorization(\"policy\") to MapFastCgiStatus(), or .AllowAnonymous() if the web server restricts access to the path.", EventName = "StatusNotShown")]
    public static partial void StatusNotShown(this ILogger log, string path);

    [LoggerMessage(107, LogLevel.Warning, @"Connection id ""{ConnectionId}"", request {Sequence}: {Method} {Path} of {Client} has taken {Seconds:F0} s, and is {Activity} ({BytesRead} bytes read, {BytesWritten} written). Slow requests that were not logged before this one: {Suppressed}.", EventName = "SlowRequest")]
    public static partial void SlowRequest(
        this ILogger log, string connectionId, uint sequence, string method, string path, string client, double seconds, string activity, long bytesRead, long bytesWritten, long suppressed);

    [LoggerMessage(108, LogLevel.Trace, "{Record}", EventName = "Record")]
    public static partial void Record(this ILogger log, string record);

    [LoggerMessage(109, LogLevel.Trace, "{Count} records came faster than they could be logged.", EventName = "RecordsLost")]
    public static partial void RecordsLost(this ILogger log, long count);
}
