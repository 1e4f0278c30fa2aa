namespace FastCgi.AspNetCore.Requests;

/// <content>
/// Features that only FastCGI has: the parameters, the web server's error log, and the role Authorizer.
/// </content>
internal abstract partial class FastCgiRequest : IFastCgiRequestFeature
{
    // The request whose authorizer this execution flow is in. Other work of the application must not answer for it.
    private static readonly AsyncLocal<FastCgiRequest?> s_asked = new();

    /// <summary>
    /// Whether this status may be sent to an Authorizer request. Below 400, it could allow access: only a running
    /// authorizer may send it.
    /// </summary>
    public bool MayAnswerAuthorizer(int statusCode)
        => statusCode >= StatusCodes.Status400BadRequest
            || (s_asked.Value == this && _lazy is { Authorization: AuthorizationPhase.Asked });

    /// <summary>
    /// Begins an authorizer. A second one cannot allow the request: it checks another path, such as that of an error
    /// page.
    /// </summary>
    public void BeginAuthorization()
    {
        Lazy.Authorization = Lazy.Authorization == AuthorizationPhase.NotAsked
            ? AuthorizationPhase.Asked
            : AuthorizationPhase.Over;
        s_asked.Value = this;
    }

    /// <summary>Ends the authorizer. Its permission has been sent, and nothing later can allow the request.</summary>
    public void EndAuthorization() => Lazy.Authorization = AuthorizationPhase.Over;

    IReadOnlyList<KeyValuePair<string, string>> IFastCgiRequestFeature.Parameters
        => _lazy?.ParameterList ?? Keep(ref Lazy.ParameterList, Parameters.GetVariables());

    TextWriter IFastCgiRequestFeature.StandardError => Response.OpenStandardError();
}
