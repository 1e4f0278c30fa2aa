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
            case StatusCodes.Status401Unauthorized when RequestHeaders.Authorization.Count == 0:
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

    /// <inheritdoc/>
    public override void ReportEventStream() => Server.Misconfigurations.ReportEventStream(GetWebServer());

    /// <inheritdoc/>
    public void ReportUserNotTaken(string userParameter, string typeParameter)
        => Server.Misconfigurations.ReportUserNotTaken(userParameter, typeParameter, GetWebServer());

    /// <summary>The web server does not wait for the answer any longer. With the lock of the connection held, before the request is aborted.</summary>
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
        var proto = RequestHeaders["X-Forwarded-Proto"].ToString();
        if (proto[(proto.LastIndexOf(',') + 1)..].Trim().Equals(Uri.UriSchemeHttps, StringComparison.OrdinalIgnoreCase))
            Server.Misconfigurations.ReportRedirectToHttps("the header X-Forwarded-Proto");
        else if (proto.Length == 0 && string.IsNullOrEmpty(GetVariable("REQUEST_SCHEME")) && GetVariable("SERVER_PORT") == "443")
            Server.Misconfigurations.ReportRedirectToHttps("SERVER_PORT, which is 443,");
    }

    private void ReportPathBase()
    {
        if (GetVariable("PATH_BASE") is { Length: > 1 } parameter)
            ReportPathBase(parameter, "PATH_BASE of the web server");
        else if (Server.Options.PathBase is { Length: > 0 } option)
            ReportPathBase(option, "FastCgi:PathBase");
    }

    private void ReportPathBase(string pathBase, string source)
    {
        // Web servers take //app for /app when they choose the location, and pass what the client wrote.
        var segments = (_head.Path ?? string.Empty).Split('/', StringSplitOptions.RemoveEmptyEntries);
        if (new PathString("/" + string.Join('/', segments)).StartsWithSegments(pathBase.TrimEnd('/')))
            return;

        // Without the query, in which there may be a secret.
        var target = Parameters.GetRawTarget(Server.Mapping);
        var query = target.IndexOf('?', StringComparison.Ordinal);
        Server.Misconfigurations.ReportPathBase(LogText.Clean(pathBase, MaxPath), source, LogText.Clean(query < 0 ? target : target[..query], MaxPath));
    }

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

    /// <summary>The name of the web server, fit for logs.</summary>
    private string? GetWebServer() => GetVariable("SERVER_SOFTWARE") is { } name ? LogText.Clean(name, LogText.MaxWebServerLength) : null;

    private string? GetVariable(string name) => Parameters.GetVariable(name, Server.Mapping);
}
