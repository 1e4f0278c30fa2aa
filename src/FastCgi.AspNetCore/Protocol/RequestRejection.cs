namespace FastCgi.AspNetCore.Protocol;

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
}
