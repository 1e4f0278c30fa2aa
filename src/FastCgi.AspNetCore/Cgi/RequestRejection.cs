using Microsoft.AspNetCore.Http;

namespace FastCgi.AspNetCore.Cgi;

/// <summary>Why a request is answered by the server itself. It is the end of that request and of nothing else.</summary>
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

    /// <summary>Nothing is wrong: somebody asks whether the server lives.</summary>
    Ping,
}

/// <summary>What a rejected request is answered, and what is logged.</summary>
internal static class RequestRejections
{
    /// <summary>The line to add where a web server does not pass what a request is: nginx alone has to be told.</summary>
    public const string ParameterAdvice =
        "In the location of nginx, add: include fastcgi_params; A location with a fastcgi_param of its own inherits none from the levels above. "
        + "Apache, lighttpd, HAProxy, Caddy and h2o pass what is needed by themselves, unless their configuration unsets it.";

    /// <summary>The status code of the answer.</summary>
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

    /// <summary>One sentence for the person who reads the answer or the log.</summary>
    public static string GetReason(this RequestRejection rejection) => rejection switch
    {
        RequestRejection.MalformedParameters => "The FastCGI parameters end inside a name-value pair.",
        RequestRejection.TooManyParameters => "The request has more FastCGI parameters than MaxRequestParameterCount allows.",
        RequestRejection.ParametersTooLarge => "The FastCGI parameters are larger than MaxRequestParametersTotalSize allows.",
        RequestRejection.ParametersTimeout => "The FastCGI parameters did not arrive within RequestParametersTimeout.",
        RequestRejection.StdinBeforeEndOfParameters => "STDIN came before the end of the FastCGI parameters.",
        RequestRejection.MissingMethod => "The FastCGI parameter REQUEST_METHOD is missing or empty. " + ParameterAdvice,
        RequestRejection.InvalidMethod => "The FastCGI parameter REQUEST_METHOD is not a token.",
        RequestRejection.InvalidTarget => "The FastCGI parameter REQUEST_URI is not a request target.",
        RequestRejection.NullCharacterInPath => "The path contains a null character.",
        RequestRejection.AsteriskTarget => "The target * is for OPTIONS only.",
        RequestRejection.InvalidContentLength => "The FastCGI parameter CONTENT_LENGTH is not a number of bytes.",
        RequestRejection.InvalidHeaderValue => "A header value contains CR, LF, NUL or bytes that are not UTF-8.",
        RequestRejection.RequestBodyTimeout => "Reading the request body timed out due to data arriving too slowly. See MinRequestBodyDataRate.",
        RequestRejection.TooManyRequests => "The server is at its limit of concurrent requests.",
        RequestRejection.RequestQueueTimeout => "The request has waited longer than RequestQueueTimeout, while the server is at its limit of concurrent requests.",
        RequestRejection.TooManyRequestsOnConnection => "The web server has more requests on this connection than MaxRequestsPerConnection allows.",
        RequestRejection.CannotMultiplex => "The server takes no further request on this connection while others are under way.",
        RequestRejection.RequestBodyBacklog => "The request body was not read while it held up the other requests of its connection.",
        RequestRejection.Ping => "pong",
        _ => "The request was rejected.",
    };
}
