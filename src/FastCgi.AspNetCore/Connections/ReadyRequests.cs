using FastCgi.AspNetCore.Requests;

namespace FastCgi.AspNetCore.Connections;

/// <summary>The requests that became ready with one receive, in order. A mutable struct: pass it by reference.</summary>
internal struct ReadyRequests
{
    private FastCgiRequest? _first;
    private FastCgiRequest? _last;

    /// <summary>Whether there is none.</summary>
    public readonly bool IsEmpty => _first is null;

    /// <summary>Whether there is no more than one.</summary>
    public readonly bool HasAtMostOne => _first == _last;

    /// <summary>Adds a request.</summary>
    public void Add(FastCgiRequest request)
    {
        if (_last is null)
            _first = request;
        else
            _last.NextReady = request;
        _last = request;
    }

    /// <summary>Takes the first request.</summary>
    public FastCgiRequest RemoveFirst()
    {
        var first = _first!;
        _first = first.NextReady;
        if (_first is null)
            _last = null;
        first.NextReady = null;
        return first;
    }
}
