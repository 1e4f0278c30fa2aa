namespace FastCgi.AspNetCore.Requests;

internal enum AdmissionResult : byte
{
    Admitted,
    Queued,
    Refused,
}

/// <summary>The slot that a request holds.</summary>
internal enum RequestPlace : byte
{
    /// <summary>None: there is no limit, or the request was refused or is over.</summary>
    None,

    Ordinary,

    Reserved,

    Queued,
}

/// <summary>Limits the requests that the application works on. Others wait in a limited queue. Reserved paths have slots of their own.</summary>
/// <param name="statusPaths">The paths of the status, which are always reserved.</param>
internal sealed class RequestAdmission(FastCgiServerOptions options, TimeProvider time, IEnumerable<string> statusPaths)
{
    private readonly Lock _lock = new();
    private readonly long? _limit = options.Limits.MaxConcurrentRequests;
    private readonly int _queueLimit = options.Limits.RequestQueueLimit;
    private readonly TimeSpan _queueTimeout = options.Limits.RequestQueueTimeout ?? TimeSpan.MaxValue;
    private readonly int _reservedLimit = options.Limits.MaxReservedRequests;
    private readonly string[] _reservedPaths = [.. options.ReservedPaths, .. statusPaths];
    private readonly LinkedList<(FastCgiRequest Request, long Since)> _queue = new();

    // Not in the requests: few of them ever wait, and every request would pay for the field.
    private readonly Dictionary<FastCgiRequest, LinkedListNode<(FastCgiRequest Request, long Since)>> _nodes = new(ReferenceEqualityComparer.Instance);
    private long _ordinaryCount;
    private int _reservedCount;

    // A figure for the status needs no lock.
    public int QueuedCount => _queue.Count;

    /// <summary>The slots in use. An aborted request keeps its slot until its application returns.</summary>
    public (long Ordinary, int Reserved) TakenCount => (Volatile.Read(ref _ordinaryCount), Volatile.Read(ref _reservedCount));

    /// <summary>Tries to acquire a slot. Evicts requests that timed out if the queue is full.</summary>
    public AdmissionResult Admit(FastCgiRequest request)
    {
        if (_limit is null)
            return AdmissionResult.Admitted;

        List<FastCgiRequest>? overdue = null;
        AdmissionResult result;
        lock (_lock)
        {
            if (TryTakePlace(request))
            {
                result = AdmissionResult.Admitted;
            }
            else
            {
                if (_queue.Count >= _queueLimit)
                    overdue = TakeOverdue();
                result = TryQueue(request) ? AdmissionResult.Queued : AdmissionResult.Refused;
            }
        }

        RunLater(overdue);
        return result;
    }

    /// <summary>Releases a slot to the request that has waited longest and has not timed out; a reserved slot, to one with a reserved path.</summary>
    public void Release(FastCgiRequest request)
    {
        if (request.Place == RequestPlace.None)
            return;

        FastCgiRequest? next = null;
        List<FastCgiRequest>? overdue = null;
        lock (_lock)
        {
            var place = request.Place;
            request.Place = RequestPlace.None;
            overdue = TakeOverdue();
            if ((place == RequestPlace.Reserved ? FindReserved() : _queue.First) is { } node)
                next = Take(node, place);
            else if (place == RequestPlace.Reserved)
                _reservedCount--;
            else
                _ordinaryCount--;
        }

        next?.RunLater();
        RunLater(overdue);
    }

    public void LeaveQueue(FastCgiRequest request)
    {
        // Read without the lock: it becomes Queued under the lock of the connection, which is held now.
        if (request.Place != RequestPlace.Queued)
            return;

        lock (_lock)
        {
            if (_nodes.TryGetValue(request, out var node))
                Take(node, RequestPlace.None);
        }
    }

    public void EndOverdue()
    {
        if (_queueLimit == 0)
            return;

        List<FastCgiRequest>? overdue;
        lock (_lock)
            overdue = TakeOverdue();

        RunLater(overdue);
    }

    private bool TryTakePlace(FastCgiRequest request)
    {
        if (_ordinaryCount < _limit)
        {
            _ordinaryCount++;
            request.Place = RequestPlace.Ordinary;
            return true;
        }

        if (_reservedCount < _reservedLimit && IsReserved(request.Path))
        {
            _reservedCount++;
            request.Place = RequestPlace.Reserved;
            return true;
        }

        return false;
    }

    private bool TryQueue(FastCgiRequest request)
    {
        if (_queue.Count >= _queueLimit)
            return false;

        request.Place = RequestPlace.Queued;
        _nodes.Add(request, _queue.AddLast((request, time.GetTimestamp())));
        return true;
    }

    private static void RunLater(List<FastCgiRequest>? requests) => requests?.ForEach(static request => request.RunLater());

    private List<FastCgiRequest>? TakeOverdue()
    {
        if (_queue.First is null)
            return null;

        List<FastCgiRequest>? overdue = null;
        var now = time.GetTimestamp();
        while (_queue.First is { } first && time.GetElapsedTime(first.Value.Since, now) >= _queueTimeout)
        {
            var request = Take(first, RequestPlace.None);
            request.Reject(RequestRejection.RequestQueueTimeout);
            (overdue ??= []).Add(request);
        }

        return overdue;
    }

    private FastCgiRequest Take(LinkedListNode<(FastCgiRequest Request, long Since)> node, RequestPlace place)
    {
        var request = node.Value.Request;
        _queue.Remove(node);
        _nodes.Remove(request);
        request.Place = place;
        return request;
    }

    private LinkedListNode<(FastCgiRequest Request, long Since)>? FindReserved()
    {
        var node = _queue.First;
        while (node is not null && !IsReserved(node.Value.Request.Path))
            node = node.Next;
        return node;
    }

    public bool IsReserved(string? path)
    {
        if (path is null)
            return false;

        foreach (var reserved in _reservedPaths)
        {
            if (path.StartsWith(reserved, StringComparison.OrdinalIgnoreCase) && (path.Length == reserved.Length || path[reserved.Length] == '/'))
                return true;
        }

        return false;
    }
}
