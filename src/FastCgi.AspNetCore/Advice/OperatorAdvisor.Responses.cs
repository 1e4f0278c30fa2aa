namespace FastCgi.AspNetCore.Advice;

/// <content>Checks responses with a status that a healthy application rarely sends.</content>
internal sealed partial class OperatorAdvisor
{
    public const int MaxPath = 500;

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
        if (limit is null || request.Input.MaxRequestBodySize != limit)
            return;

        var contentLength = request.Head.ContentLength;
        var isTooLarge = contentLength is null
            ? request.ErrorStatusCode == StatusCodes.Status413PayloadTooLarge
            : contentLength > limit;
        if (isTooLarge && TryAcquire(nameof(FastCgiLog.RequestBodyTooLarge), out var count))
            log.RequestBodyTooLarge(count, limit);
    }
}
