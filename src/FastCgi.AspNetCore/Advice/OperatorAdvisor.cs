using System.Collections.Immutable;
using System.Numerics;

namespace FastCgi.AspNetCore.Advice;

/// <summary>Reports errors that one request shows, each once a minute. The <see cref="Doctor"/> needs many.</summary>
internal sealed class OperatorAdvisor(ILogger log, TimeProvider time) : Advisor
{
    public const int MaxPath = 500;

    // Without the ellipsis of a longer name.
    private const int MaxWebServer = 99;

    // All requests are slow when a database hangs.
    private const int MaxSlowRequests = 100;

    // The length of a head that nginx accepts: by default, or with the largest buffer that was advised.
    private int _maxHead = FastCgiResponse.LargeHead;

    private readonly LogThrottle _slowRequests = new(time, MaxSlowRequests);
    private ImmutableDictionary<string, LogThrottle> _throttles = ImmutableDictionary<string, LogThrottle>.Empty;

    public FrontEnds FrontEnds { get; } = new(time);
    public GivenUpRequests GivenUpRequests { get; } = new();
    public UnmappedPaths UnmappedPaths { get; } = new();

    public override void CheckRequest(FastCgiRequest request)
    {
        if (request.Parameters.Length > 0 && FrontEnds.TryAcquire(request.Server.Time.LastTick))
            FrontEnds.Sample(GetWebServer(request.Parameters), request.Parameters, request.KeepConnection);
        if (request.Head.HasHostWithoutPort)
            AdviseOnPort(request);
        const string Target = "REQUEST_URI";
        if (request.Head.LacksTarget && TryAcquire(Target, out var count))
            log.ParametersMissing(
                Target, count, "the application sees requests for /", RequestRejections.ParameterAdvice);
        if (request.Rejection != RequestRejection.None)
            AdviseOnRejection(request);
    }

    public override void CheckResponse(FastCgiRequest request)
    {
        AdviseOnHeadLength(request);
        AdviseOnDroppedHeaders(request);
        if (request.IsForApplication)
            AdviseOnResponse(request);
        SeesAllResponses = !UnmappedPaths.IsOver || FrontEnds.AwaitsAuthorization;
    }

    public override void OnGivenUp(string? software, TimeSpan age) => GivenUpRequests.Add(age, Clean(software));

    public override void OnSlow(RequestDescription request)
    {
        if (!_slowRequests.TryAcquire(out var count))
            return;

        log.SlowRequest(
            request.Connection,
            request.Sequence,
            request.Method,
            request.Path,
            request.Client ?? "an unknown client",
            request.Age,
            request.State,
            request.BytesRead,
            request.BytesWritten,
            count - 1);
    }

    public override void OnUserNotTaken(string? software, string userParameter, string typeParameter)
    {
        if (!TryAcquire(nameof(FastCgiLog.UserNotTaken), out _, isOnce: true))
            return;

        var webServer = Clean(software);
        var line = WebServerKinds.Of(webServer) == WebServerKind.Nginx
            ? $"fastcgi_param {typeParameter} Basic; next to auth_basic"
            : $"the parameter {typeParameter}";
        log.UserNotTaken(userParameter, typeParameter, webServer ?? "the web server", line);
    }

    public override void OnRoleNotServed(FastCgiRole role)
    {
        if (Enum.IsDefined(role) && TryAcquire(role.ToString(), out _, isOnce: true))
            log.RoleNotServed(role);
    }

    public override void OnOtherProtocol(string protocol, Func<string> describePeer)
    {
        // Separate throttles: a client with one protocol must not hide a web server with the other.
        if (TryAcquire(protocol, out var count))
            log.WrongProtocol(protocol, describePeer(), count);
    }

    /// <summary>At most once a minute, or once, for each message or subject.</summary>
    private bool TryAcquire(string subject, out long count, bool isOnce = false)
        => ImmutableInterlocked.GetOrAdd(
            ref _throttles,
            subject,
            static (_, state) => state.isOnce ? LogThrottle.Once(state.time) : new LogThrottle(state.time),
            (time, isOnce)).TryAcquire(out count);

    private static string? GetWebServer(RequestParameters parameters) => Clean(parameters.Software);

    private static string? Clean(string? software)
        => string.IsNullOrEmpty(software) ? null : LogText.Clean(software, MaxWebServer);

    private void AdviseOnPort(FastCgiRequest request)
    {
        // If it is not a host name, the client invented it.
        var host = request.GetHostAsSent() ?? string.Empty;
        if (Uri.CheckHostName(host) != UriHostNameType.Unknown
            && TryAcquire(nameof(FastCgiLog.HostWithoutPort), out var count))
            log.HostWithoutPort(request.Parameters.GetVariable("SERVER_PORT"), host, count);
    }

    /// <summary>The log of nginx does not name the fix for its 502.</summary>
    private void AdviseOnHeadLength(FastCgiRequest request)
    {
        var length = request.Response.HeadLength;
        var max = Volatile.Read(ref _maxHead);
        if (length <= max || WebServerKinds.Of(GetWebServer(request.Parameters)) != WebServerKind.Nginx)
            return;

        // Once for each size, because the buffers of nginx, which contain a record header, may be large enough already.
        var size = (int)BitOperations.RoundUpToPowerOf2((uint)(length + ProtocolConstants.HeaderLength));
        if (Interlocked.CompareExchange(ref _maxHead, size - ProtocolConstants.HeaderLength, max) == max)
            log.HeadTooLargeForNginx(length, size / 1_024);
    }

    private void AdviseOnDroppedHeaders(FastCgiRequest request)
    {
        if (!request.Response.HasStarted)
            return;

        string? names = null;
        foreach (var (name, _) in request.Response.SentHeaders)
        {
            if (CgiResponseWriter.IsReserved(name))
                names = names is null ? name : $"{names}, {name}";
        }

        if (names is not null && TryAcquire(nameof(FastCgiLog.HeadersDropped), out var count))
            log.HeadersDropped(request.Connection.Id, request.TraceIdentifier, names, count);
    }

    private void AdviseOnRejection(FastCgiRequest request)
    {
        var limits = request.Server.Options.Limits;
        const string Method = "REQUEST_METHOD";
        long count;
        if (request.Rejection == RequestRejection.MissingMethod && TryAcquire(Method, out count))
            log.ParametersMissing(Method, count, "requests get a 400", RequestRejections.ParameterAdvice);
        else if (request.Rejection == RequestRejection.TooManyRequests
            && TryAcquire(nameof(FastCgiLog.RequestsRefused), out count))
            log.RequestsRefused(count, limits.MaxConcurrentRequests, limits.RequestQueueLimit);
        else if (request.Rejection == RequestRejection.RequestQueueTimeout
            && TryAcquire(nameof(FastCgiLog.RequestsWaitedTooLong), out count))
            log.RequestsWaitedTooLong(count, limits.MaxConcurrentRequests, limits.RequestQueueTimeout);
    }

    private void AdviseOnResponse(FastCgiRequest request)
    {
        NoteAuthorization(request);
        NotePath(request);
        if (request.HasNewOrigin && ForwardedHeaders.FindTaken(request) is { Length: > 0 } taken
            && TryAcquire(nameof(FastCgiLog.ForwardedHeaderTaken), out var count))
            log.ForwardedHeaderTaken(taken, count);
        switch (request.Response.StatusCode)
        {
            case StatusCodes.Status301MovedPermanently or StatusCodes.Status302Found:
            case StatusCodes.Status307TemporaryRedirect or StatusCodes.Status308PermanentRedirect:
                AdviseOnRedirect(request);
                break;
            case StatusCodes.Status404NotFound when string.IsNullOrEmpty(request.Head.PathBase):
                AdviseOnPathBase(request);
                break;
            case StatusCodes.Status413PayloadTooLarge:
                AdviseOnLargeBody(request);
                break;
        }
    }

    private void NoteAuthorization(FastCgiRequest request)
    {
        var isChallenged = request.Response.IsChallenge;
        if (!isChallenged && !FrontEnds.AwaitsAuthorization)
            return;

        var isPassed = request.Headers.Authorization.Count > 0;
        if ((isChallenged || isPassed) && GetWebServer(request.Parameters) is { } webServer)
            FrontEnds.NoteAuthorization(webServer, isPassed);
    }

    private void NotePath(FastCgiRequest request)
    {
        if (UnmappedPaths.IsOver)
            return;

        var isMapped = request.Response.StatusCode != StatusCodes.Status404NotFound
            || !string.IsNullOrEmpty(request.Head.PathBase);
        if (isMapped && request.Response.HasStarted && !request.IsForStatus)
            UnmappedPaths.End();
    }

    private void AdviseOnRedirect(FastCgiRequest request)
    {
        if (request.Head.IsHttps
            || request.Response.Location?.StartsWith("https:", StringComparison.OrdinalIgnoreCase) is not true)
            return;

        // The last entry of a list comes from the load balancer next to the web server. An explicit http is more
        // reliable than a port, which may be fixed in the configuration.
        var proto = request.Headers["X-Forwarded-Proto"].ToString();
        string evidence;
        if (proto[(proto.LastIndexOf(',') + 1)..].Trim().Equals(Uri.UriSchemeHttps, StringComparison.OrdinalIgnoreCase))
            evidence = "the header X-Forwarded-Proto";
        else if (proto.Length == 0 && request.Parameters.GetVariable("REQUEST_SCHEME") is null or ""
            && request.Parameters.GetVariable("SERVER_PORT") == "443")
            evidence = "SERVER_PORT (443)";
        else
            return;

        if (TryAcquire(nameof(FastCgiLog.RedirectToHttps), out var count))
            log.RedirectToHttps(count, evidence);
    }

    private void AdviseOnPathBase(FastCgiRequest request)
    {
        string pathBase;
        string source;
        if (request.Parameters.GetVariable("PATH_BASE") is { Length: > 1 } parameter)
            (pathBase, source) = (LogText.Clean(parameter, MaxPath), "the parameter PATH_BASE");
        else if (request.Server.Options.PathBase is { Length: > 0 } option)
            (pathBase, source) = (LogText.Clean(option, MaxPath), "FastCgi:PathBase");
        else
        {
            UnmappedPaths.AddNotFound(request.Head.Path);
            return;
        }

        var hasSlash = pathBase[0] == '/';
        if (!hasSlash)
            source += $", which must begin with a slash: '/{pathBase}'";

        // Web servers select the location /app for //app too, and pass the client's path.
        var path = GetSegments(request.Head.Path ?? string.Empty);
        var start = GetSegments(pathBase);
        var isMatch = hasSlash && path.Take(start.Length).SequenceEqual(start, StringComparer.OrdinalIgnoreCase);
        if (isMatch || !TryAcquire(nameof(FastCgiLog.PathBaseNotMatched), out var count))
            return;

        // The query may contain a secret.
        var target = request.Parameters.GetRawTarget();
        var query = target.IndexOf('?', StringComparison.Ordinal);
        log.PathBaseNotMatched(count, LogText.Clean(query < 0 ? target : target[..query], MaxPath), pathBase, source);
    }

    private static string[] GetSegments(string path) => path.Split('/', StringSplitOptions.RemoveEmptyEntries);

    /// <summary>A limit set on the endpoint, and a 413 from the application, are intended.</summary>
    private void AdviseOnLargeBody(FastCgiRequest request)
    {
        var limit = request.Server.Options.Limits.MaxRequestBodySize;
        if (limit is null || request.MaxRequestBodySize != limit)
            return;

        var contentLength = request.Head.ContentLength;
        var isTooLarge = contentLength is null
            ? request.ErrorStatusCode == StatusCodes.Status413PayloadTooLarge
            : contentLength > limit;
        if (isTooLarge && TryAcquire(nameof(FastCgiLog.RequestBodyTooLarge), out var count))
            log.RequestBodyTooLarge(count, limit);
    }
}
