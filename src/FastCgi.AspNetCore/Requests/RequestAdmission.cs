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

    /// <summary>One of the slots for the status.</summary>
    Status,

    Queued,
}

/// <summary>Limits the requests that the application works on. Others wait in a limited queue. The status has slots of its own.</summary>
/// <param name="statusPaths">The paths of the status.</param>
internal sealed class RequestAdmission(FastCgiServerOptions options, TimeProvider time, IReadOnlyList<string> statusPaths)
{
    // 2 × (two load balancers + orchestrator + one human).
    private const int StatusLimit = 8;

    private readonly Lock _lock = new();
    private readonly long? _limit = options.Limits.MaxConcurrentRequests;
    private readonly int _queueLimit = options.Limits.RequestQueueLimit;
    private readonly TimeSpan _queueTimeout = options.Limits.RequestQueueTimeout ?? TimeSpan.MaxValue;
    private readonly LinkedList<(FastCgiRequest Request, long Since)> _queue = new();

    // Not in the requests: few of them ever wait, and every request would pay for the field.
    private readonly Dictionary<FastCgiRequest, LinkedListNode<(FastCgiRequest Request, long Since)>> _nodes = new(ReferenceEqualityComparer.Instance);
    private long _ordinaryCount;
    private int _statusCount;

    // A figure for the status needs no lock.
    public int QueuedCount => _queue.Count;

    /// <summary>The slots in use. An aborted request keeps its slot until its application returns.</summary>
    public (long Ordinary, int Status) TakenCount => (Volatile.Read(ref _ordinaryCount), Volatile.Read(ref _statusCount));

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

    /// <summary>Releases a slot, to the request that has waited longest and has not timed out.</summary>
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
            if (place == RequestPlace.Status)
                _statusCount--;
            else if (_queue.First is { } node)
                next = Take(node, place);
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

        if (_statusCount < StatusLimit && request.IsForStatus)
        {
            _statusCount++;
            request.Place = RequestPlace.Status;
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

    public bool IsForStatus(string? path)
    {
        if (path is null)
            return false;

        foreach (var status in statusPaths)
        {
            if (path.StartsWith(status, StringComparison.OrdinalIgnoreCase)
                && (path.Length == status.Length || path[status.Length] == '/'))
            {
                return true;
            }
        }

        return false;
    }
}
