using System.Collections.Concurrent;
using Microsoft.AspNetCore.Hosting.Server;

namespace FastCgi.AspNetCore.Requests;

/// <summary>The request objects of one server, used again and again together with what hosting hangs on them.</summary>
internal abstract class RequestPool
{
    // Objects rest for a few requests before they are used again, so that an application that uses one after its request is
    // found out (FastCgiRequest.ThrowIfOver) rather than answered by another request.
    private const int MinResting = 8;
    private const int MaxResting = 1_024;

    private readonly ConcurrentQueue<FastCgiRequest> _resting = new();
    private int _count;

    /// <summary>Takes a request object.</summary>
    public FastCgiRequest Rent()
    {
        if (Volatile.Read(ref _count) > MinResting && _resting.TryDequeue(out var request))
        {
            Interlocked.Decrement(ref _count);
            return request;
        }

        return Create();
    }

    /// <summary>Puts a request object back.</summary>
    public void Return(FastCgiRequest request)
    {
        if (Interlocked.Increment(ref _count) <= MaxResting)
            _resting.Enqueue(request);
        else
            Interlocked.Decrement(ref _count);
    }

    protected abstract FastCgiRequest Create();
}

/// <summary>The request objects for one type of hosting context.</summary>
internal sealed class RequestPool<TContext>(IHttpApplication<TContext> application) : RequestPool
    where TContext : notnull
{
    /// <summary>What the requests need of their server; set once it is made.</summary>
    public ServerContext Server { get; set; } = null!;

    protected override FastCgiRequest Create() => new FastCgiRequest<TContext>(Server, application);
}
