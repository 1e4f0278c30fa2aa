using FastCgi.AspNetCore.Diagnostics;
using FastCgi.AspNetCore.Requests;
using Microsoft.AspNetCore.Http;

namespace FastCgi.AspNetCore.Advice;

/// <content>What an answer shows: only statuses that a good answer seldom has are looked at.</content>
internal sealed partial class OperatorAdvisor
{
    private const int MaxPath = 500;

    private readonly LogThrottle _pathBases = new(time);
    private readonly LogThrottle _schemes = new(time);
    private readonly LogThrottle _largeBodies = new(time);
    private readonly LogThrottle _authorizations = LogThrottle.Once(time);

    private void AdviseOnAnswer(FastCgiRequest request)
    {
        switch (request.Response.StatusCode)
        {
            case StatusCodes.Status301MovedPermanently or StatusCodes.Status302Found:
            case StatusCodes.Status307TemporaryRedirect or StatusCodes.Status308PermanentRedirect:
                AdviseOnRedirect(request);
                break;
            case StatusCodes.Status401Unauthorized when request.Headers.Authorization.Count == 0:
                AdviseOnAuthorization(request);
                break;
            case StatusCodes.Status404NotFound when string.IsNullOrEmpty(request.Head.PathBase):
                AdviseOnPathBase(request);
                break;
            case StatusCodes.Status413PayloadTooLarge:
                AdviseOnLargeBody(request);
                break;
        }
    }

    /// <summary>The application has redirected to https a client that seems to be there.</summary>
    private void AdviseOnRedirect(FastCgiRequest request)
    {
        if (request.Head.IsHttps || request.Response.Location?.StartsWith("https:", StringComparison.OrdinalIgnoreCase) is not true)
            return;

        // The last entry of a list comes from the load balancer next to the web server. A header that says http is more reliable than a port,
        // which may be fixed in the configuration.
        var proto = request.Headers["X-Forwarded-Proto"].ToString();
        string evidence;
        if (proto[(proto.LastIndexOf(',') + 1)..].Trim().Equals(Uri.UriSchemeHttps, StringComparison.OrdinalIgnoreCase))
            evidence = "the header X-Forwarded-Proto";
        else if (proto.Length == 0 && request.Parameters.GetVariable("REQUEST_SCHEME") is null or "" && request.Parameters.GetVariable("SERVER_PORT") == "443")
            evidence = "SERVER_PORT, which is 443,";
        else
            return;

        if (_schemes.TryAcquire(out var count))
            log.RedirectToHttps(count, evidence);
    }

    /// <summary>The web server may keep the header to itself. It may also be that the client sent none.</summary>
    private void AdviseOnAuthorization(FastCgiRequest request)
    {
        var webServer = GetWebServer(request.Parameters);
        var line = WebServerKinds.Of(webServer) switch
        {
            WebServerKind.Apache => "CGIPassAuth On, in the <Location> of the application",
            WebServerKind.HaProxy => "pass-header Authorization, in the fcgi-app section",
            _ => null,
        };
        if (line is not null && _authorizations.TryAcquire(out _))
            log.AuthorizationAbsent(webServer!, line);
    }

    /// <summary>A path that does not begin with the path base was answered 404.</summary>
    private void AdviseOnPathBase(FastCgiRequest request)
    {
        string pathBase;
        string source;
        if (request.Parameters.GetVariable("PATH_BASE") is { Length: > 1 } parameter)
            (pathBase, source) = (parameter, "PATH_BASE of the web server");
        else if (request.Server.Options.PathBase is { Length: > 0 } option)
            (pathBase, source) = (option, "FastCgi:PathBase");
        else
            return;

        // Web servers take //app for /app when they choose the location, and pass what the client wrote. Neither need be a path.
        var path = GetSegments(request.Head.Path ?? string.Empty);
        var start = GetSegments(pathBase);
        if (path.Take(start.Length).SequenceEqual(start, StringComparer.OrdinalIgnoreCase) || !_pathBases.TryAcquire(out var count))
            return;

        // Without the query, in which there may be a secret.
        var target = request.Parameters.GetRawTarget();
        var query = target.IndexOf('?', StringComparison.Ordinal);
        log.PathBaseNotMatched(count, LogText.Clean(query < 0 ? target : target[..query], MaxPath), LogText.Clean(pathBase, MaxPath), source);
    }

    private static string[] GetSegments(string path) => path.Split('/', StringSplitOptions.RemoveEmptyEntries);

    /// <summary>The limit that an endpoint has set itself is what the application wants, and so is a 413 of its own.</summary>
    private void AdviseOnLargeBody(FastCgiRequest request)
    {
        var limit = request.Server.Options.Limits.MaxRequestBodySize;
        if (limit is null || request.Input.MaxBodySize != limit)
            return;

        var contentLength = request.Head.ContentLength;
        var isTooLarge = contentLength is null ? request.ErrorStatusCode == StatusCodes.Status413PayloadTooLarge : contentLength > limit;
        if (isTooLarge && _largeBodies.TryAcquire(out var count))
            log.RequestBodyTooLarge(count, limit);
    }
}
