using System.Collections.Immutable;
using System.Numerics;

namespace FastCgi.AspNetCore.Advice;

/// <summary>Reports errors that one request shows, each once a minute. The <see cref="Doctor"/> needs many.</summary>
internal sealed partial class OperatorAdvisor(ILogger log, TimeProvider time) : Advisor
{
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
            request.ConnectionId,
            request.Sequence,
            request.Method,
            request.Path,
            request.Client ?? "an unknown client",
            request.Age.TotalSeconds,
            request.Activity,
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

    public override void OnOtherProtocol(string protocol, string peer)
    {
        // Separate throttles: a client with one protocol must not hide a web server with the other.
        if (TryAcquire(protocol, out var count))
            log.WrongProtocol(protocol, peer, count);
    }

    /// <summary>At most once a minute, or once, for each message or subject.</summary>
    private bool TryAcquire(string subject, out long count, bool isOnce = false)
        => ImmutableInterlocked.GetOrAdd(
            ref _throttles,
            subject,
            static (_, state) => state.isOnce ? LogThrottle.Once(state.time) : new LogThrottle(state.time),
            (time, isOnce)).TryAcquire(out count);

    private static string? GetWebServer(RequestParameters parameters)
        => Clean(parameters.GetVariable("SERVER_SOFTWARE"));

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
}
