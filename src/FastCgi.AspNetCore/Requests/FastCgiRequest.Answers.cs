using FastCgi.AspNetCore.Cgi;
using FastCgi.AspNetCore.Diagnostics;
using Microsoft.AspNetCore.Http;

namespace FastCgi.AspNetCore.Requests;

/// <content>What an answer tells of the configuration, of the web server or of this one: only statuses that a good answer seldom has are looked at.</content>
internal abstract partial class FastCgiRequest : IUserObserver
{
    /// <summary>Tells an operator what to mend if the answer is what a usual mistake leads to. The request is over but for its release.</summary>
    public void ReportAnswer()
    {
        if (Response.StatusCode is < StatusCodes.Status301MovedPermanently or > StatusCodes.Status413PayloadTooLarge || Rejection != RequestRejection.None)
            return;

        switch (Response.StatusCode)
        {
            case StatusCodes.Status301MovedPermanently or StatusCodes.Status302Found or StatusCodes.Status307TemporaryRedirect or StatusCodes.Status308PermanentRedirect:
                ReportRedirect();
                break;
            case StatusCodes.Status401Unauthorized when Headers.Authorization.Count == 0:
                Server.Misconfigurations.ReportAuthorizationAbsent(GetWebServer());
                break;
            case StatusCodes.Status404NotFound when string.IsNullOrEmpty(_head.PathBase):
                ReportPathBase();
                break;
            case StatusCodes.Status413PayloadTooLarge:
                ReportLargeBody();
                break;
        }
    }

    /// <summary>Looks at what the web server passes, at one request in a second.</summary>
    public void SampleFrontEnd()
    {
        if (Parameters.Length > 0 && Server.FrontEnds.TryAcquire(Server.Time.LastTick))
            Server.FrontEnds.Look(Parameters.Span, KeepConnection);
    }

    /// <summary>The response is a stream of events.</summary>
    public void ReportEventStream() => Server.Misconfigurations.ReportEventStream(GetWebServer());

    /// <inheritdoc/>
    public void ReportUserNotTaken(string userParameter, string typeParameter)
        => Server.Misconfigurations.ReportUserNotTaken(userParameter, typeParameter, GetWebServer());

    /// <summary>The web server does not wait for the answer any longer, and the request is about to be aborted.</summary>
    public void CountGivenUp()
    {
        // Most clients that leave do so soon: their web server's name is not looked up.
        if (Response.BytesWritten == 0 && !IsAnswered && Server.Time.GetElapsedTime(BeganAt) is var age && age >= GivenUpRequests.MinAge)
            Server.GivenUpRequests.Add(age, GetWebServer());
    }

    private void ReportRedirect()
    {
        if (_head.IsHttps || Response.Location?.StartsWith("https:", StringComparison.OrdinalIgnoreCase) is not true)
            return;

        // Of a list, the last is of the load balancer next to the web server. Whoever says http knows better than a port, which may be
        // configured: as behind a load balancer, whose own health checks have no such header.
        var proto = Headers["X-Forwarded-Proto"].ToString();
        if (proto[(proto.LastIndexOf(',') + 1)..].Trim().Equals(Uri.UriSchemeHttps, StringComparison.OrdinalIgnoreCase))
            Server.Misconfigurations.ReportRedirectToHttps("the header X-Forwarded-Proto");
        else if (proto.Length == 0 && string.IsNullOrEmpty(Parameters.GetVariable("REQUEST_SCHEME")) && Parameters.GetVariable("SERVER_PORT") == "443")
            Server.Misconfigurations.ReportRedirectToHttps("SERVER_PORT, which is 443,");
    }

    private void ReportPathBase()
    {
        if (Parameters.GetVariable("PATH_BASE") is { Length: > 1 } parameter)
            ReportPathBase(parameter, "PATH_BASE of the web server");
        else if (Server.Options.PathBase is { Length: > 0 } option)
            ReportPathBase(option, "FastCgi:PathBase");
    }

    private void ReportPathBase(string pathBase, string source)
    {
        // Web servers take //app for /app when they choose the location, and pass what the client wrote. Neither need be a path.
        var pathSegments = GetSegments(_head.Path ?? string.Empty);
        var baseSegments = GetSegments(pathBase);
        if (pathSegments.Length >= baseSegments.Length && pathSegments.Take(baseSegments.Length).SequenceEqual(baseSegments, StringComparer.OrdinalIgnoreCase))
            return;

        // Without the query, in which there may be a secret.
        var target = Parameters.GetRawTarget();
        var query = target.IndexOf('?', StringComparison.Ordinal);
        Server.Misconfigurations.ReportPathBase(LogText.Clean(pathBase, MaxPath), source, LogText.Clean(query < 0 ? target : target[..query], MaxPath));
    }

    private static string[] GetSegments(string path) => path.Split('/', StringSplitOptions.RemoveEmptyEntries);

    /// <summary>The limit that an endpoint has set itself is what the application wants, and so is a 413 of its own.</summary>
    private void ReportLargeBody()
    {
        var limit = Server.Options.Limits.MaxRequestBodySize;
        if (limit is not null && Input.MaxBodySize == limit
            && (_head.ContentLength > limit || (_head.ContentLength is null && _lazy?.BadRequest?.StatusCode == StatusCodes.Status413PayloadTooLarge)))
        {
            Server.Misconfigurations.ReportLargeBody(limit);
        }
    }

    private string? GetWebServer() => Parameters.GetVariable("SERVER_SOFTWARE") is { } name ? LogText.Clean(name, LogText.MaxWebServerLength) : null;
}
