using FastCgi.AspNetCore.Requests;

namespace FastCgi.AspNetCore.Connections;

/// <summary>
/// What one receive has made ready, in order: requests to execute, and reports, which go to log providers and so are made outside
/// of all locks. A mutable struct: pass it by reference.
/// </summary>
internal struct ReadyRequests
{
    private FastCgiRequest? _first;
    private FastCgiRequest? _last;
    private List<Action>? _reports;

    public readonly bool IsEmpty => _first is null;

    public readonly bool HasAtMostOne => _first == _last;

    public readonly bool HasReports => _reports is not null;

    /// <summary>Whether there is anything to do: requests, or reports.</summary>
    public readonly bool HasWork => !IsEmpty || HasReports;

    public void Add(FastCgiRequest request)
    {
        if (_last is null)
            _first = request;
        else
            _last.NextReady = request;
        _last = request;
    }

    public FastCgiRequest RemoveFirst()
    {
        var first = _first!;
        _first = first.NextReady;
        if (_first is null)
            _last = null;
        first.NextReady = null;
        return first;
    }

    /// <summary>Adds what is to be logged. What a log provider does with it, and how long it takes, is not known.</summary>
    public void Report(Action report) => (_reports ??= []).Add(report);

    /// <summary>Takes what is to be logged. No lock is held when it is called.</summary>
    public IReadOnlyList<Action> TakeReports()
    {
        if (_reports is not { } reports)
            return [];

        _reports = null;
        return reports;
    }
}
