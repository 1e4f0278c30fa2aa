namespace FastCgi.AspNetCore.Requests;

/// <summary>Executes requests that have waited for their turn; a base class, so that references go one way.</summary>
internal abstract class RequestRunner
{
    /// <summary>Has a request executed on a thread that nobody waits for. It returns at once.</summary>
    public abstract void Run(FastCgiRequest request);

    /// <summary>A request was aborted: it waits no longer for a thread. With the lock of the connection held.</summary>
    /// <returns>Whether it waited, so that nobody else will execute it, to its end.</returns>
    public virtual bool TryLeave(FastCgiRequest request) => false;
}
