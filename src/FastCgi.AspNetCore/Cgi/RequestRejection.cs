namespace FastCgi.AspNetCore.Cgi;

/// <summary>Why the server answers a request itself. Other requests are not affected.</summary>
internal enum RequestRejection : byte
{
    None,
    MalformedParameters,
    TooManyParameters,
    ParametersTooLarge,
    ParametersTimeout,
    StdinBeforeEndOfParameters,
    MissingMethod,
    InvalidMethod,
    InvalidTarget,
    NullCharacterInPath,
    AsteriskTarget,
    InvalidContentLength,
    InvalidHeaderValue,
    RequestBodyTimeout,
    TooManyRequests,
    TooManyRequestsOnConnection,
    CannotMultiplex,
    RequestBodyBacklog,
    RequestQueueTimeout,

    /// <summary>A health check, not an error.</summary>
    Ping,
}

/// <summary>The answers to rejected requests, and the reasons for the log.</summary>
internal static class RequestRejections
{
    /// <summary>The fix if the web server does not pass basic parameters: only nginx needs configuration for them.</summary>
    public const string ParameterAdvice =
        "In nginx, add to the location: include fastcgi_params; A location with its own fastcgi_param lines does not inherit those of outer levels. "
        + "Apache, lighttpd, HAProxy, Caddy and h2o pass these parameters unless their configuration unsets them.";

    public static int GetStatusCode(this RequestRejection rejection) => rejection switch
    {
        RequestRejection.TooManyParameters or RequestRejection.ParametersTooLarge => StatusCodes.Status431RequestHeaderFieldsTooLarge,
        RequestRejection.ParametersTimeout or RequestRejection.RequestBodyTimeout => StatusCodes.Status408RequestTimeout,
        RequestRejection.AsteriskTarget => StatusCodes.Status405MethodNotAllowed,
        RequestRejection.TooManyRequests or RequestRejection.TooManyRequestsOnConnection or RequestRejection.CannotMultiplex
            or RequestRejection.RequestBodyBacklog or RequestRejection.RequestQueueTimeout => StatusCodes.Status503ServiceUnavailable,
        RequestRejection.Ping => StatusCodes.Status200OK,
        _ => StatusCodes.Status400BadRequest,
    };

    public static string GetReason(this RequestRejection rejection) => rejection switch
    {
        RequestRejection.MalformedParameters => "The FastCGI parameters end inside a name-value pair.",
        RequestRejection.TooManyParameters => "The request has more FastCGI parameters than MaxRequestParameterCount allows.",
        RequestRejection.ParametersTooLarge => "The FastCGI parameters are larger than MaxRequestParametersTotalSize allows.",
        RequestRejection.ParametersTimeout => "The FastCGI parameters did not arrive within RequestParametersTimeout.",
        RequestRejection.StdinBeforeEndOfParameters => "STDIN arrived before the end of the FastCGI parameters.",
        RequestRejection.MissingMethod => "The FastCGI parameter REQUEST_METHOD is missing or empty. " + ParameterAdvice,
        RequestRejection.InvalidMethod => "The FastCGI parameter REQUEST_METHOD is not a token.",
        RequestRejection.InvalidTarget => "The FastCGI parameter REQUEST_URI is not a request target.",
        RequestRejection.NullCharacterInPath => "The path contains a null character.",
        RequestRejection.AsteriskTarget => "The target * is valid only for OPTIONS.",
        RequestRejection.InvalidContentLength => "The FastCGI parameter CONTENT_LENGTH is not a number of bytes.",
        RequestRejection.InvalidHeaderValue => "A header value contains CR, LF, NUL or bytes that are not UTF-8.",
        RequestRejection.RequestBodyTimeout => "Reading the request body timed out due to data arriving too slowly. See MinRequestBodyDataRate.",
        RequestRejection.TooManyRequests => "The server is at its limit of concurrent requests.",
        RequestRejection.RequestQueueTimeout => "The request waited in the queue for longer than RequestQueueTimeout.",
        RequestRejection.TooManyRequestsOnConnection => "The web server has more requests on this connection than MaxRequestsPerConnection allows.",
        RequestRejection.CannotMultiplex => "The server does not accept concurrent requests on this connection.",
        RequestRejection.RequestBodyBacklog => "The request body was not read and blocked the other requests on its connection.",
        RequestRejection.Ping => "pong",
        _ => "The request was rejected.",
    };
}
