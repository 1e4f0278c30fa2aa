namespace FastCgi.AspNetCore.Protocol;

/// <summary>The reason why the server itself responds to a request. Other requests are not affected.</summary>
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
    InvalidHost,
    RequestBodyTimeout,
    TooManyRequests,
    TooManyRequestsOnConnection,
    CannotMultiplex,
    RequestBodyBacklog,
    RequestQueueTimeout,
}
