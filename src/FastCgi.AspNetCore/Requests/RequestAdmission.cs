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

/// <summary>Counts the requests that the application works on, and lets those beyond the limit wait in a queue that is bounded too.</summary>
internal sealed class RequestAdmission(long? limit = null, int queueLimit = 0)
{
    private readonly Lock _lock = new();
    private readonly Queue<FastCgiRequest> _queue = new();
    private long _admittedCount;

    /// <summary>The requests that wait.</summary>
    public int QueuedCount
    {
        get
        {
            lock (_lock)
                return _queue.Count;
        }
    }

    /// <summary>Asks for a place.</summary>
    public AdmissionResult Admit(FastCgiRequest request)
    {
        if (limit is null)
            return AdmissionResult.Admitted;

        lock (_lock)
        {
            if (_admittedCount < limit)
            {
                _admittedCount++;
                request.IsAdmitted = true;
                return AdmissionResult.Admitted;
            }

            if (_queue.Count >= queueLimit)
                return AdmissionResult.Refused;

            request.IsAdmitted = true;
            _queue.Enqueue(request);
            return AdmissionResult.Queued;
        }
    }

    /// <summary>Gives a place back: the request that has waited longest is executed.</summary>
    public void Release(FastCgiRequest request)
    {
        if (!request.IsAdmitted)
            return;

        request.IsAdmitted = false;
        FastCgiRequest? next;
        lock (_lock)
        {
            if (!_queue.TryDequeue(out next))
                _admittedCount--;
        }

        next?.RunLater();
    }
}
