namespace FastCgi.AspNetCore.Requests;

/// <summary>Executes requests that have waited for their turn; a base class, so that references go one way.</summary>
internal abstract class RequestRunner
{
    /// <summary>Has a request executed on a thread that nobody waits for. It returns at once.</summary>
    public abstract void Run(FastCgiRequest request);
}
