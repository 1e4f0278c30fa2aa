using FastCgi.AspNetCore.Cgi;

namespace FastCgi.AspNetCore.Requests;

/// <summary>How a request was taken.</summary>
internal enum AdmissionResult : byte
{
    /// <summary>It can be executed.</summary>
    Admitted,

    /// <summary>It is executed when another one ends.</summary>
    Queued,

    /// <summary>There is no place for it.</summary>
    Refused,
}

/// <summary>What a request holds of <see cref="RequestAdmission"/>.</summary>
internal enum RequestPlace : byte
{
    /// <summary>Nothing: there is no limit, or the request was refused or is over.</summary>
    None,

    /// <summary>One of the places of the application.</summary>
    Ordinary,

    /// <summary>One of those for reserved paths.</summary>
    Reserved,

    /// <summary>One in the queue.</summary>
    Queued,
}

/// <summary>
/// Counts the requests that the application works on, and lets those beyond the limit wait in a queue that is bounded too, in number and
/// in time. Reserved paths have a few places of their own.
/// </summary>
/// <param name="options">The options.</param>
/// <param name="time">The clock of the server.</param>
/// <param name="statusPaths">The paths of the status, which are reserved without being listed.</param>
internal sealed class RequestAdmission(FastCgiServerOptions options, TimeProvider time, IEnumerable<string> statusPaths)
{
    private readonly Lock _lock = new();
    private readonly long? _limit = options.Limits.MaxConcurrentRequests;
    private readonly int _queueLimit = options.Limits.RequestQueueLimit;
    private readonly TimeSpan _queueTimeout = options.Limits.RequestQueueTimeout ?? TimeSpan.MaxValue;
    private readonly int _reservedLimit = options.Limits.MaxReservedRequests;
    private readonly string[] _reservedPaths = [.. options.ReservedPaths, .. statusPaths];
    private readonly LinkedList<QueuedRequest> _queue = new();

    // Here and not in the requests: few of them ever wait, and each that is held would pay for it.
    private readonly Dictionary<FastCgiRequest, LinkedListNode<QueuedRequest>> _nodes = new(ReferenceEqualityComparer.Instance);
    private long _ordinaryCount;
    private int _reservedCount;

    public int QueuedCount
    {
        get
        {
            lock (_lock)
                return _queue.Count;
        }
    }

    /// <summary>
    /// The requests that have an ordinary place, and those that have a reserved one. An aborted request has its place until its application
    /// returns.
    /// </summary>
    public (long Ordinary, int Reserved) TakenCount
    {
        get
        {
            lock (_lock)
                return (_ordinaryCount, _reservedCount);
        }
    }

    /// <summary>Asks for a place. Those who have waited for too long make room in a full queue.</summary>
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

    /// <summary>
    /// Gives a place back: the request that has waited longest is executed, unless that was too long. A reserved place is for one that waits
    /// for a reserved path.
    /// </summary>
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

    /// <summary>A request is aborted: if it waits, it does no longer, and its place in the queue is free.</summary>
    public void LeaveQueue(FastCgiRequest request)
    {
        // Read without the lock: it becomes that with the lock of the connection held, as now.
        if (request.Place != RequestPlace.Queued)
            return;

        lock (_lock)
        {
            if (_nodes.TryGetValue(request, out var node))
                Take(node, RequestPlace.None);
        }
    }

    /// <summary>Answers the requests that have waited for too long. Called every second or so.</summary>
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
        _nodes.Add(request, _queue.AddLast(new QueuedRequest(request, time.GetTimestamp())));
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

    private FastCgiRequest Take(LinkedListNode<QueuedRequest> node, RequestPlace place)
    {
        var request = node.Value.Request;
        _queue.Remove(node);
        _nodes.Remove(request);
        request.Place = place;
        return request;
    }

    private LinkedListNode<QueuedRequest>? FindReserved()
    {
        var node = _queue.First;
        while (node is not null && !IsReserved(node.Value.Request.Path))
            node = node.Next;
        return node;
    }

    private bool IsReserved(string? path)
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

/// <summary>A request that waits.</summary>
/// <param name="Request">The request.</param>
/// <param name="Since">Since when, by the clock of the server.</param>
internal readonly record struct QueuedRequest(FastCgiRequest Request, long Since);
