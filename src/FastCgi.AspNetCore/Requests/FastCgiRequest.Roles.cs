using System.Globalization;
using Microsoft.AspNetCore.Http;

namespace FastCgi.AspNetCore.Requests;

/// <content>What is different about requests in the other roles than Responder.</content>
internal abstract partial class FastCgiRequest : IFastCgiFilterFeature
{
    // Of Lazy.AuthorizerStatus: the authorizer is running.
    private const int Asked = -1;

    // Of Lazy.AuthorizerStatus: the answer may not allow the request, whatever it is.
    private const int Refused = -2;

    /// <summary>
    /// Whether an answer of this status may be sent to a request in the role Authorizer, where any status below 400 could allow it: only the
    /// answer of the authorizer itself may.
    /// </summary>
    public bool MayAnswerAuthorizer(int statusCode)
        => statusCode >= StatusCodes.Status400BadRequest || _lazy?.AuthorizerStatus is { } answered && (answered == Asked || answered == statusCode);

    /// <summary>An authorizer is asked. A second one cannot allow what the first has not: it was asked about another path, such as that of an error page.</summary>
    public void BeginAuthorization() => Lazy.AuthorizerStatus = Lazy.AuthorizerStatus is null ? Asked : Refused;

    /// <summary>The authorizer has answered, or failed.</summary>
    /// <param name="statusCode">Its answer; <see langword="null"/> if it has failed.</param>
    public void EndAuthorization(int? statusCode)
    {
        if (Lazy.AuthorizerStatus == Asked)
            Lazy.AuthorizerStatus = statusCode ?? Refused;
    }

    Stream IFastCgiFilterFeature.Data => _lazy?.Data ?? Keep(ref Lazy.Data, new FilterData(Input));

    long? IFastCgiFilterFeature.DataLength => GetNumber("FCGI_DATA_LENGTH");

    DateTimeOffset? IFastCgiFilterFeature.DataLastModified
        => GetNumber("FCGI_DATA_LAST_MOD") is { } seconds && seconds <= DateTimeOffset.MaxValue.ToUnixTimeSeconds()
            ? DateTimeOffset.FromUnixTimeSeconds(seconds)
            : null;

    private RequestInput CreateInput()
    {
        // The body goes to whoever answers the request; an authorizer gets none, whatever its params say.
        if (Role == FastCgiRole.Authorizer)
            _head.ContentLength = null;

        var dataLength = Role == FastCgiRole.Filter ? GetNumber("FCGI_DATA_LENGTH") : null;
        return new RequestInput(this, _head.ContentLength, Server.Options.Limits.MaxRequestBodySize, dataLength);
    }

    private long? GetNumber(string name)
        => long.TryParse(Parameters.GetVariable(name), NumberStyles.None, CultureInfo.InvariantCulture, out var number) ? number : null;
}
