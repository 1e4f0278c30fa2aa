namespace FastCgi.AspNetCore.Streams;

/// <summary>Requests that one receive made ready, and reports for the log. A mutable struct: do not copy it.</summary>
internal struct ReadyRequests
{
    private RequestStream? _first;
    private RequestStream? _last;
    private List<Action>? _reports;

    public readonly bool IsEmpty => _first is null;
    public readonly bool HasWork => !IsEmpty || _reports is not null;

    public void Add(RequestStream request)
    {
        if (_last is null)
            _first = request;
        else
            _last.NextReady = request;
        _last = request;
    }

    public RequestStream RemoveFirst()
    {
        var first = _first!;
        _first = first.NextReady;
        if (_first is null)
            _last = null;
        first.NextReady = null;
        return first;
    }

    /// <summary>Adds a report. A log provider may take any time for it.</summary>
    public void Report(Action report) => (_reports ??= []).Add(report);

    /// <summary>Removes and returns the reports. The caller must not hold a lock.</summary>
    public IReadOnlyList<Action> TakeReports()
    {
        IReadOnlyList<Action>? reports = _reports;
        _reports = null;
        return reports ?? [];
    }
}
