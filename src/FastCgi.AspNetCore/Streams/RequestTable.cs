namespace FastCgi.AspNetCore.Streams;

/// <summary>
/// The requests of a connection by id. Nearly always there is only one, which needs no dictionary. A mutable struct: do
/// not copy it.
/// </summary>
internal struct RequestTable
{
    private RequestStream? _single;
    private Dictionary<ushort, RequestStream>? _others;

    public readonly int Count => (_single is null ? 0 : 1) + (_others?.Count ?? 0);

    public readonly RequestStream? Find(ushort id)
    {
        if (_single is { } single && single.Id == id)
            return single;

        return _others is not null && _others.TryGetValue(id, out var request) ? request : null;
    }

    public void Add(RequestStream request)
    {
        if (_single is null)
            _single = request;
        else
            (_others ??= [])[request.Id] = request;
    }

    public bool Remove(RequestStream request)
    {
        if (_single == request)
        {
            _single = null;
            return true;
        }

        return _others is not null && _others.TryGetValue(request.Id, out var found) && found == request
            && _others.Remove(request.Id);
    }

    public readonly long GetMaxUnreadBodyLength()
    {
        var length = _single?.UnreadBodyLength ?? 0;
        if (_others is null)
            return length;

        foreach (var request in _others)
            length = Math.Max(length, request.Value.UnreadBodyLength);
        return length;
    }

    public readonly bool HasTimedBody()
    {
        var isTimed = _single is { IsBodyTimed: true };
        if (_others is null)
            return isTimed;

        foreach (var request in _others)
            isTimed |= request.Value.IsBodyTimed;
        return isTimed;
    }

    public readonly List<RequestStream> ToList()
    {
        var requests = new List<RequestStream>(Count);
        if (_single is not null)
            requests.Add(_single);
        if (_others is not null)
            requests.AddRange(_others.Values);
        return requests;
    }
}
