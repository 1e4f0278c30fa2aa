using FastCgi.AspNetCore.Requests;

namespace FastCgi.AspNetCore.Connections;

/// <summary>
/// The requests of a connection by their ids: any ids, for HAProxy counts up to 65,535, but nearly always one request alone, which
/// needs no dictionary. A mutable struct: keep it in a field, do not copy it.
/// </summary>
internal struct RequestTable
{
    private FastCgiRequest? _single;
    private Dictionary<ushort, FastCgiRequest>? _others;

    public readonly int Count => (_single is null ? 0 : 1) + (_others?.Count ?? 0);

    public readonly FastCgiRequest? Find(ushort id)
    {
        if (_single is { } single && single.Id == id)
            return single;

        return _others is not null && _others.TryGetValue(id, out var request) ? request : null;
    }

    /// <summary>Adds a request whose id is not in the table.</summary>
    public void Add(FastCgiRequest request)
    {
        if (_single is null)
            _single = request;
        else
            (_others ??= [])[request.Id] = request;
    }

    public bool Remove(FastCgiRequest request)
    {
        if (_single == request)
        {
            _single = null;
            return true;
        }

        return _others is not null && _others.TryGetValue(request.Id, out var found) && found == request && _others.Remove(request.Id);
    }

    /// <summary>The most bytes that one of the requests has left unread.</summary>
    public readonly long GetMaxUnreadBodyLength()
    {
        var length = _single?.UnreadBodyLength ?? 0;
        if (_others is { Count: > 0 })
        {
            foreach (var request in _others.Values)
                length = Math.Max(length, request.UnreadBodyLength);
        }

        return length;
    }

    /// <summary>Whether the application waits for a body that must come at some rate.</summary>
    public readonly bool HasTimedBody()
    {
        if (_single is { IsBodyTimed: true })
            return true;

        if (_others is { Count: > 0 })
        {
            foreach (var request in _others.Values)
            {
                if (request.IsBodyTimed)
                    return true;
            }
        }

        return false;
    }

    public readonly List<FastCgiRequest> ToList()
    {
        var requests = new List<FastCgiRequest>(Count);
        if (_single is not null)
            requests.Add(_single);
        if (_others is not null)
            requests.AddRange(_others.Values);
        return requests;
    }
}
