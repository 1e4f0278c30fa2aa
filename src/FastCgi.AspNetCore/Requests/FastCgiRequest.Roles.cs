using System.Globalization;
using Microsoft.AspNetCore.Http;

namespace FastCgi.AspNetCore.Requests;

/// <content>What is different about requests in the other roles than Responder.</content>
internal abstract partial class FastCgiRequest : IFastCgiFilterFeature
{
    // The request whose authorizer this flow of execution is in: what else the application does meanwhile must not answer for it.
    private static readonly AsyncLocal<FastCgiRequest?> s_asked = new();

    /// <summary>
    /// Whether an answer of this status may be sent to a request in the role Authorizer, where any status below 400 could allow it: only the
    /// authorizer that was asked first may give one, while it is asked.
    /// </summary>
    public bool MayAnswerAuthorizer(int statusCode)
        => statusCode >= StatusCodes.Status400BadRequest || (s_asked.Value == this && _lazy is { Authorization: AuthorizationPhase.Asked });

    /// <summary>An authorizer is asked. A second one cannot allow the request: it is asked about another path, such as that of an error page.</summary>
    public void BeginAuthorization()
    {
        Lazy.Authorization = Lazy.Authorization == AuthorizationPhase.NotAsked ? AuthorizationPhase.Asked : AuthorizationPhase.Over;
        s_asked.Value = this;
    }

    /// <summary>The authorizer has answered: what it allows has been sent, and nothing that follows can allow the request.</summary>
    public void EndAuthorization() => Lazy.Authorization = AuthorizationPhase.Over;

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
