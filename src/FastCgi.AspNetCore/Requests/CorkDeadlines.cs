namespace FastCgi.AspNetCore.Requests;

/// <summary>Uncorks responses whose end has not followed in time; a base class, so that references go one way.</summary>
internal abstract class CorkDeadlines
{
    /// <summary>Sets a deadline of a few milliseconds, at which <see cref="ResponseOutput.Uncork"/> is called.</summary>
    /// <returns>Whether somebody is there to do it; if not, nothing may be held.</returns>
    public abstract bool TryAdd(ResponseOutput response);
}
