namespace FastCgi.AspNetCore.Requests;

/// <summary>Executes requests that have waited for their turn; a base class, so that references go one way.</summary>
internal abstract class RequestRunner
{
    /// <summary>Has a request executed on a thread that nobody waits for. It returns at once.</summary>
    public abstract void Run(FastCgiRequest request);

    /// <summary>A request is aborted: if it waits for a thread, it is forgotten, so that its memory is free before it would have had its turn.</summary>
    public abstract void Leave(FastCgiRequest request);
}
