namespace FastCgi.AspNetCore.Requests;

/// <summary>
/// Looks on and tells the operator what to fix. It is called at these points only, with no lock held; what it throws is logged and changes
/// nothing. A server without one gives no advice.
/// </summary>
internal abstract class Advisor
{
    /// <summary>Younger requests that are aborted are of clients who clicked again.</summary>
    public static readonly TimeSpan MinGivenUpAge = TimeSpan.FromSeconds(2);

    /// <summary>The request is about to be executed.</summary>
    public abstract void OnStarted(FastCgiRequest request);

    /// <summary>The response has started, and is a stream of events.</summary>
    public abstract void OnEventStreamStarted(FastCgiRequest request);

    /// <summary>The request has ended.</summary>
    public abstract void OnEnded(FastCgiRequest request);

    /// <summary>The web server has aborted a request of <see cref="MinGivenUpAge"/> or more, none of whose answer was written.</summary>
    /// <param name="parameters">Its params.</param>
    /// <param name="age">How long it took until then.</param>
    public abstract void OnGivenUp(RequestParameters parameters, TimeSpan age);

    /// <summary>The request takes longer than the threshold.</summary>
    public abstract void OnSlow(RequestDescription request);

    /// <summary>The web server names a user, but does not say how it has checked the name.</summary>
    public abstract void OnUserNotTaken(FastCgiRequest request, string userParameter, string typeParameter);

    /// <summary>A web server asks for a role that is not served.</summary>
    public abstract void OnRoleNotServed(FastCgiRole role);

    /// <summary>A peer speaks another protocol.</summary>
    /// <param name="protocol">Its name.</param>
    /// <param name="peer">Who it is.</param>
    public abstract void OnOtherProtocol(string protocol, string peer);
}
