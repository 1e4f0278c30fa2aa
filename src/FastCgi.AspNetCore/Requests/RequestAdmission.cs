namespace FastCgi.AspNetCore.Requests;

/// <summary>Limits concurrent requests. Others wait in a limited queue. The status has its own slots.</summary>
internal sealed class RequestAdmission(
    FastCgiServerOptions options, TimeProvider time, IReadOnlyList<string> statusPaths)
{
    // 2 × (two load balancers + orchestrator + one human).
    private const int StatusLimit = 8;

    private readonly Lock _lock = new();
    private readonly PathString[] _statusPaths = [.. statusPaths.Select(static path => new PathString(path))];
    private readonly long? _limit = options.Limits.MaxConcurrentRequests;
    private readonly int _queueLimit = options.Limits.RequestQueueLimit;
    private readonly TimeSpan _queueTimeout = options.Limits.RequestQueueTimeout ?? TimeSpan.MaxValue;
    private readonly LinkedList<(RequestStream Request, long Since)> _queue = new();

    private long _ordinaryCount;
    private int _statusCount;

    // The status reads this without the lock.
    public int QueuedCount => _queue.Count;

    /// <summary>The number of slots in use. An aborted request keeps its slot until its application returns.</summary>
    public (long Ordinary, int Status) TakenCount
        => (Volatile.Read(ref _ordinaryCount), Volatile.Read(ref _statusCount));

    /// <summary>Acquires a slot, or a place in the queue; null if refused.</summary>
    public RequestSlot? Admit(RequestStream request, string? path)
    {
        if (_limit is null)
            return RequestSlot.None;

        List<RequestStream>? overdue = null;
        RequestSlot? slot = null;
        using (_lock.Acquire())
        {
            if (TryTakeSlot(request, path))
                return request.Slot;
            if (_queue.Count >= _queueLimit)
                overdue = TakeOverdue();
            if (_queue.Count < _queueLimit)
            {
                _queue.AddLast((request, time.GetTimestamp()));
                slot = request.Slot = RequestSlot.Queued;
            }
        }

        RunLater(overdue);
        return slot;
    }

    /// <summary>Releases a slot, to the request that has waited longest and has not timed out.</summary>
    public void Release(RequestStream request)
    {
        if (request.Slot == RequestSlot.None)
            return;

        RequestStream? next;
        List<RequestStream>? overdue;
        using (_lock.Acquire())
        {
            overdue = TakeOverdue();
            next = PassSlot(request);
        }

        next?.RunLater();
        RunLater(overdue);
    }

    /// <summary>
    /// Called under the lock of its connection if a request is aborted before it is executed. It runs at once if it
    /// waited for a slot; otherwise, the one that gets its slot.
    /// </summary>
    public void Withdraw(RequestStream request)
    {
        // Read without the lock: a slot is acquired under the lock of the connection, which is held now.
        if (request.Slot == RequestSlot.None)
            return;

        RequestStream? next;
        using (_lock.Acquire())
        {
            var node = _queue.First;
            while (node is not null && node.Value.Request != request)
                node = node.Next;
            next = node is null ? PassSlot(request) : Take(node, RequestSlot.None);
        }

        next?.RunLater();
    }

    public void EndOverdue()
    {
        if (_queueLimit == 0)
            return;

        List<RequestStream>? overdue;
        using (_lock.Acquire())
            overdue = TakeOverdue();

        RunLater(overdue);
    }

    private bool TryTakeSlot(RequestStream request, string? path)
    {
        if (_ordinaryCount < _limit)
        {
            _ordinaryCount++;
            request.Slot = RequestSlot.Ordinary;
            return true;
        }

        if (_statusCount < StatusLimit && IsForStatus(path))
        {
            _statusCount++;
            request.Slot = RequestSlot.Status;
            return true;
        }

        return false;
    }

    /// <returns>The request that gets the slot, if any waits.</returns>
    private RequestStream? PassSlot(RequestStream request)
    {
        var slot = request.Slot;
        request.Slot = RequestSlot.None;
        if (slot == RequestSlot.Status)
            _statusCount--;
        else if (slot == RequestSlot.Ordinary && _queue.First is { } node)
            return Take(node, slot);
        else if (slot == RequestSlot.Ordinary)
            _ordinaryCount--;
        Invariants.Require(_statusCount >= 0 && _ordinaryCount >= 0, "More slots were released than taken.");
        return null;
    }

    private static void RunLater(List<RequestStream>? requests)
        => requests?.ForEach(static request => request.RunLater());

    private List<RequestStream>? TakeOverdue()
    {
        if (_queue.First is null)
            return null;

        List<RequestStream>? overdue = null;
        var now = time.GetTimestamp();
        while (_queue.First is { } first && time.GetElapsedTime(first.Value.Since, now) >= _queueTimeout)
        {
            var request = Take(first, RequestSlot.None);
            request.Reject(RequestRejection.RequestQueueTimeout);
            (overdue ??= []).Add(request);
        }

        return overdue;
    }

    private RequestStream Take(LinkedListNode<(RequestStream Request, long Since)> node, RequestSlot slot)
    {
        var request = node.Value.Request;
        _queue.Remove(node);
        request.Slot = slot;
        return request;
    }

    public bool IsForStatus(string? path)
    {
        foreach (var status in _statusPaths)
        {
            if (new PathString(path).StartsWithSegments(status))
                return true;
        }

        return false;
    }
}
