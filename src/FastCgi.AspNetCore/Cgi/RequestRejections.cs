namespace FastCgi.AspNetCore.Cgi;

using static RequestRejection;

internal static class RequestRejections
{
    /// <summary>The fix for missing basic parameters, which only nginx must be configured to pass.</summary>
    public const string ParameterAdvice =
        "In nginx, add to the location: include fastcgi_params; A location with its own fastcgi_param lines does not "
            + "inherit those from outer levels. Apache, lighttpd, HAProxy, and Caddy pass these parameters unless "
            + "their configuration unsets them.";

    private static readonly Dictionary<RequestRejection, (int StatusCode, string Reason)> s_responses = new()
    {
        [MalformedParameters] = (400, "The FastCGI parameters end inside a name-value pair."),
        [TooManyParameters] = (431, "The request has more FastCGI parameters than MaxRequestParameterCount allows."),
        [ParametersTooLarge] = (431, "The FastCGI parameters are larger than MaxRequestParametersTotalSize allows."),
        [ParametersTimeout] = (408, "The FastCGI parameters did not arrive within RequestParametersTimeout."),
        [StdinBeforeEndOfParameters] = (400, "STDIN arrived before the end of the FastCGI parameters."),
        [MissingMethod] = (400, "The FastCGI parameter REQUEST_METHOD is missing or empty. " + ParameterAdvice),
        [InvalidMethod] = (400, "The FastCGI parameter REQUEST_METHOD is not an HTTP method."),
        [InvalidTarget] = (400, "The FastCGI parameter REQUEST_URI is not a valid request target."),
        [NullCharacterInPath] = (400, "The path contains a null character."),
        [AsteriskTarget] = (405, "The target * is valid only for OPTIONS."),
        [InvalidContentLength] = (400, "The FastCGI parameter CONTENT_LENGTH is not a valid number of bytes."),
        [InvalidHeaderValue] = (400, "A header value contains CR, LF, NUL or bytes that are not UTF-8."),
        [InvalidHost] = (400, "HTTP_HOST is not a host with an optional port."),
        [RequestBodyTimeout] = (408, "Reading the request body timed out due to data arriving too slowly. See "
            + "MinRequestBodyDataRate."),
        [TooManyRequests] = (503, "The server is at its limit of concurrent requests."),
        [RequestQueueTimeout] = (503, "The request waited in the queue for longer than RequestQueueTimeout."),
        [TooManyRequestsOnConnection] = (503, "The web server has more requests on this connection than "
            + "MaxRequestsPerConnection allows."),
        [CannotMultiplex] = (503, "The server does not accept concurrent requests on this connection."),
        [RequestBodyBacklog] = (503, "The request body was not read and blocked the other requests on its connection."),
    };

    public static int GetStatusCode(this RequestRejection rejection) => s_responses[rejection].StatusCode;

    public static string GetReason(this RequestRejection rejection) => s_responses[rejection].Reason;
}
