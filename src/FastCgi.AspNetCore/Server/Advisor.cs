namespace FastCgi.AspNetCore.Server;

/// <summary>Tells the operator what to fix. Called without locks; its exceptions are logged and ignored.</summary>
internal abstract class Advisor
{
    /// <summary>Younger ones are usually page reloads. A timeout of 2 s may fire a little early.</summary>
    public static readonly TimeSpan MinGivenUpAge = TimeSpan.FromSeconds(1.9);

    public abstract void OnStarted(RequestStream request);

    public abstract void OnEnded(RequestStream request);

    /// <summary>The web server aborted a request after <see cref="MinGivenUpAge"/>, without any response.</summary>
    public abstract void OnGivenUp(string? software, TimeSpan age);

    public abstract void OnSlow(RequestDescription request);

    /// <summary>The web server names a user, but not how it has authenticated the name.</summary>
    public abstract void OnUserNotTaken(string? software, string userParameter, string typeParameter);

    public abstract void OnRoleNotServed(FastCgiRole role);

    public abstract void OnOtherProtocol(string protocol, string peer);
}
