using FastCgi.AspNetCore.Cgi;
using Microsoft.AspNetCore.Http;

namespace FastCgi.AspNetCore.Requests;

/// <content>What an answer tells of the configuration, of the web server or of this one: only statuses that a good answer seldom has are looked at.</content>
internal abstract partial class FastCgiRequest
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
                Server.Misconfigurations.ReportAuthorizationAbsent(GetVariable("SERVER_SOFTWARE"));
                break;
            case StatusCodes.Status404NotFound when _head.PathBase.Length == 0:
                ReportPathBase();
                break;
            case StatusCodes.Status413PayloadTooLarge when _lazy?.BadRequest is not null || _head.ContentLength > Server.Options.Limits.MaxRequestBodySize:
                Server.Misconfigurations.ReportLargeBody(Server.Options.Limits.MaxRequestBodySize);
                break;
        }
    }

    /// <inheritdoc/>
    public override void ReportEventStream() => Server.Misconfigurations.ReportEventStream(GetVariable("SERVER_SOFTWARE"));

    private void ReportRedirect()
    {
        if (_head.IsHttps || Response.Location?.StartsWith("https:", StringComparison.OrdinalIgnoreCase) is not true)
            return;

        if (RequestHeaders["X-Forwarded-Proto"].ToString().Equals(Uri.UriSchemeHttps, StringComparison.OrdinalIgnoreCase))
            Server.Misconfigurations.ReportRedirectToHttps("the header X-Forwarded-Proto");
        else if (GetVariable("SERVER_PORT") == "443")
            Server.Misconfigurations.ReportRedirectToHttps("SERVER_PORT, which is 443,");
    }

    private void ReportPathBase()
    {
        if (GetVariable("PATH_BASE") is { Length: > 1 } parameter)
            Server.Misconfigurations.ReportPathBase(parameter, "PATH_BASE of the web server", Parameters.GetRawTarget(Server.Mapping));
        else if (Server.Options.PathBase is { Length: > 0 } option)
            Server.Misconfigurations.ReportPathBase(option, "FastCgi:PathBase", Parameters.GetRawTarget(Server.Mapping));
    }

    private string? GetVariable(string name) => Parameters.GetVariable(name, Server.Mapping);
}
