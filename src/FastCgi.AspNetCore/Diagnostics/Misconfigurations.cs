using Microsoft.Extensions.Logging;

namespace FastCgi.AspNetCore.Diagnostics;

/// <summary>
/// Tells an operator what to mend, where a request shows it: how often, the cause, and the line to add, at most once a minute each.
/// No lock is held when a method is called, and none is called for a request that nothing is wrong with.
/// </summary>
internal sealed class Misconfigurations(ILogger log, TimeProvider time)
{
    private readonly LogRateLimit _methods = new(time);
    private readonly LogRateLimit _targets = new(time);
    private readonly LogRateLimit _hosts = new(time);
    private readonly LogRateLimit _refusals = new(time);
    private readonly LogRateLimit _longWaits = new(time);
    private readonly LogRateLimit _droppedHeaders = new(time);
    private readonly LogRateLimit _pathBases = new(time);
    private readonly LogRateLimit _schemes = new(time);
    private readonly LogRateLimit _largeBodies = new(time);
    private bool _hasToldOfAuthorization;
    private bool _hasToldOfEventStreams;
    private bool _hasToldOfUsers;

    /// <summary>A request without REQUEST_METHOD was answered 400.</summary>
    public void ReportMissingMethod(string advice)
    {
        if (_methods.TryAcquire(out var count))
            log.ParametersMissing("REQUEST_METHOD", count, "they were answered 400", advice);
    }

    /// <summary>A request without a path was taken for one of the root.</summary>
    public void ReportMissingTarget(string advice)
    {
        if (_targets.TryAcquire(out var count))
            log.ParametersMissing("REQUEST_URI", count, "the application sees each as one for /", advice);
    }

    /// <summary>The application was told a host without a port, and there is one.</summary>
    public void ReportHostWithoutPort(string host, string? port)
    {
        if (_hosts.TryAcquire(out var count))
            log.HostWithoutPort(port, host, count);
    }

    /// <summary>A request was answered 503 because too many were under way.</summary>
    public void ReportBusy(long? limit, int queueLimit)
    {
        if (_refusals.TryAcquire(out var count))
            log.RequestsRefused(count, limit, queueLimit);
    }

    /// <summary>A request was answered 503 because it had waited for too long.</summary>
    public void ReportLongWait(long? limit, TimeSpan? timeout)
    {
        if (_longWaits.TryAcquire(out var count))
            log.RequestsWaitedTooLong(count, limit, timeout);
    }

    /// <summary>The application has set headers that are not its own.</summary>
    public void ReportDroppedHeaders(string connectionId, string traceIdentifier, string names)
    {
        if (_droppedHeaders.TryAcquire(out var count))
            log.HeadersDropped(connectionId, traceIdentifier, names, count);
    }

    /// <summary>A path that does not begin with the path base was answered 404.</summary>
    public void ReportPathBase(string pathBase, string source, string target)
    {
        if (_pathBases.TryAcquire(out var count))
            log.PathBaseNotMatched(count, target, pathBase, source);
    }

    /// <summary>The application has redirected to https a client that seems to be there.</summary>
    public void ReportRedirectToHttps(string evidence)
    {
        if (_schemes.TryAcquire(out var count))
            log.RedirectToHttps(count, evidence);
    }

    /// <summary>A request was answered 413.</summary>
    public void ReportLargeBody(long? limit)
    {
        if (_largeBodies.TryAcquire(out var count))
            log.RequestBodyTooLarge(count, limit);
    }

    /// <summary>A request without Authorization was answered 401. It may be that the client sent none.</summary>
    public void ReportAuthorizationAbsent(string? webServer)
    {
        var line = WebServerKinds.Of(webServer) switch
        {
            WebServerKind.Apache => "CGIPassAuth On, in the <Location> of the application",
            WebServerKind.HaProxy => "pass-header Authorization, in the fcgi-app section",
            _ => null,
        };
        if (line is not null && !Interlocked.Exchange(ref _hasToldOfAuthorization, true))
            log.AuthorizationAbsent(webServer!, line);
    }

    /// <summary>A stream of events has begun. It may be that the web server is configured not to hold it.</summary>
    public void ReportEventStream(string? webServer)
    {
        var line = WebServerKinds.Of(webServer) switch
        {
            WebServerKind.Apache => "flushpackets=on, at the end of the ProxyPass line",
            WebServerKind.HaProxy => "option http-no-delay, in the frontend section",
            WebServerKind.Lighttpd => "server.stream-response-body = 1",
            _ => null,
        };
        if (line is not null && !Interlocked.Exchange(ref _hasToldOfEventStreams, true))
            log.EventStreamMayBeHeld(webServer!, line);
    }

    /// <summary>A user was named, and not how the web server knows. It may be that a client has made the name up.</summary>
    public void ReportUserNotTaken(string userParameter, string typeParameter, string? webServer)
    {
        if (Interlocked.Exchange(ref _hasToldOfUsers, true))
            return;

        var line = WebServerKinds.Of(webServer) == WebServerKind.Nginx ? $"fastcgi_param {typeParameter} Basic; beside auth_basic" : $"the parameter {typeParameter}";
        log.UserNotTaken(userParameter, typeParameter, webServer ?? "the web server", line);
    }
}
