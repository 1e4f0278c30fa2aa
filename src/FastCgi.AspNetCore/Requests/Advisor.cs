namespace FastCgi.AspNetCore.Requests;

/// <summary>
/// Tells the operator what to fix. Called for symptoms, so an ordinary request costs nothing; without locks; its
/// exceptions are logged and ignored.
/// </summary>
internal abstract class Advisor
{
    /// <summary>Younger ones are usually page reloads. Below 2 s, because a timer may fire early.</summary>
    public static readonly TimeSpan MinGivenUpAge = TimeSpan.FromSeconds(1.9);

    /// <summary>Whether ordinary responses matter too, because they can refute a symptom.</summary>
    public bool SeesAllResponses { get; protected set; } = true;

    /// <summary>Called before the response: an operator who sees it also finds the explanation.</summary>
    public abstract void CheckRequest(FastCgiRequest request);

    public abstract void CheckResponse(FastCgiRequest request);

    /// <summary>Called if the web server aborts a request of <see cref="MinGivenUpAge"/> without response.</summary>
    public abstract void OnGivenUp(string? software, TimeSpan age);

    public abstract void OnSlow(RequestDescription request);

    /// <summary>Called if the web server names a user, but not how it authenticated the name.</summary>
    public abstract void OnUserNotTaken(string? software, string userParameter, string typeParameter);

    public abstract void OnRoleNotServed(FastCgiRole role);

    public abstract void OnOtherProtocol(string protocol, Func<string> describePeer);
}
