using System.Collections.Concurrent;
using System.Diagnostics.CodeAnalysis;
using System.Runtime.InteropServices;
using FastCgi.AspNetCore.Diagnostics;
using Microsoft.AspNetCore.Hosting.Server;

namespace FastCgi.AspNetCore.Requests;

/// <summary>
/// The request objects of one server, used again and again together with what hosting hangs on them. They rest per loop, so that loops do
/// not write to the memory of one another for each request.
/// </summary>
internal abstract class RequestPool
{
    // Objects rest for a few requests before they are used again, so that an application that uses one after its request is
    // found out (FastCgiRequest.ThrowIfOver) rather than answered by another request.
    private const int MinResting = 8;
    private const int MaxResting = 1_024;
    private const int MaxLoops = 64;

    private readonly Resting[] _loops;
    private readonly int _maxRestingPerLoop;
    private int _usedCount;

    /// <param name="loopCount">The loops; of very many, some share what they have.</param>
    protected RequestPool(int loopCount)
    {
        _loops = new Resting[Math.Min(loopCount, MaxLoops)];
        for (var i = 0; i < _loops.Length; i++)
            _loops[i] = new Resting();
        _maxRestingPerLoop = Math.Max(MaxResting / _loops.Length, 2 * MinResting);
    }

    /// <summary>The objects that are out, for tests: counted only where <see cref="Invariants.AreChecked"/>, for all loops would write to it.</summary>
    public int UsedCount => Volatile.Read(ref _usedCount);

    /// <summary>Takes a request object.</summary>
    /// <param name="loop">The loop of its connection.</param>
    public FastCgiRequest Rent(int loop)
    {
        if (Invariants.AreChecked)
            Interlocked.Increment(ref _usedCount);
        return _loops[loop % _loops.Length].TryTake(out var request) ? request : Create();
    }

    /// <summary>Puts a request object back, from any thread.</summary>
    /// <param name="request">The object.</param>
    /// <param name="loop">As for <see cref="Rent"/>.</param>
    public void Return(FastCgiRequest request, int loop)
    {
        if (Invariants.AreChecked)
            Invariants.Require(!request.Parameters.HasMemory, "A request goes into the pool with memory outside the managed heap.");
        _loops[loop % _loops.Length].Add(request, _maxRestingPerLoop);
        if (Invariants.AreChecked)
            Interlocked.Decrement(ref _usedCount);
    }

    protected abstract FastCgiRequest Create();

    /// <summary>The objects of one loop.</summary>
    private sealed class Resting
    {
        private readonly ConcurrentQueue<FastCgiRequest> _requests = new();
        private PaddedCount _count;

        public bool TryTake([NotNullWhen(true)] out FastCgiRequest? request)
        {
            request = null;
            if (Volatile.Read(ref _count.Value) <= MinResting || !_requests.TryDequeue(out request))
                return false;

            Interlocked.Decrement(ref _count.Value);
            return true;
        }

        public void Add(FastCgiRequest request, int maxResting)
        {
            if (Interlocked.Increment(ref _count.Value) <= maxResting)
                _requests.Enqueue(request);
            else
                Interlocked.Decrement(ref _count.Value);
        }
    }

    /// <summary>A number that shares its cache line with nothing: processors fetch two lines at once.</summary>
    [StructLayout(LayoutKind.Explicit, Size = 256)]
    private struct PaddedCount
    {
        [FieldOffset(128)]
        public int Value;
    }
}

/// <summary>The request objects for one type of hosting context.</summary>
internal sealed class RequestPool<TContext>(IHttpApplication<TContext> application, int loopCount) : RequestPool(loopCount)
    where TContext : notnull
{
    /// <summary>What the requests need of their server; set once it is made.</summary>
    public ServerContext Server { get; set; } = null!;

    protected override FastCgiRequest Create() => new FastCgiRequest<TContext>(Server, application);
}
