namespace FastCgi.AspNetCore.Server;

/// <summary>
/// Tells the operator what to fix. Called only at these points, without locks; its exceptions are logged and change
/// nothing.
/// </summary>
internal abstract class Advisor
{
    /// <summary>
    /// Younger aborted requests are usually page reloads and are ignored. A timeout of 2 s may fire a little early.
    /// </summary>
    public static readonly TimeSpan MinGivenUpAge = TimeSpan.FromSeconds(1.9);

    public abstract void OnStarted(RequestStream request);

    public abstract void OnEnded(RequestStream request);

    /// <summary>The web server, whose SERVER_SOFTWARE this is, has aborted a request of at least
    /// <see cref="MinGivenUpAge"/> before any of its response was written.</summary>
    public abstract void OnGivenUp(string? software, TimeSpan age);

    /// <summary>The request takes longer than the threshold.</summary>
    public abstract void OnSlow(RequestDescription request);

    /// <summary>The web server names a user, but not how it has authenticated the name.</summary>
    public abstract void OnUserNotTaken(string? software, string userParameter, string typeParameter);

    /// <summary>The web server requests a role that is not supported.</summary>
    public abstract void OnRoleNotServed(FastCgiRole role);

    public abstract void OnOtherProtocol(string protocol, string peer);
}
