namespace FastCgi.AspNetCore.Streams;

/// <summary>The requests of a connection. A single one needs no dictionary. A mutable struct: do not copy it.</summary>
internal struct RequestTable
{
    private static readonly Dictionary<ushort, RequestStream> s_none = [];

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
        if (_single != request)
            return _others?.Remove(request.Id) == true;

        _single = null;
        return true;
    }

    public readonly Enumerator GetEnumerator() => new(_single, (_others ?? s_none).GetEnumerator());

    /// <summary>Enumerates the requests. They may be removed meanwhile, but not added.</summary>
    public struct Enumerator(RequestStream? single, Dictionary<ushort, RequestStream>.Enumerator others)
    {
        private RequestStream? _single = single;
        private Dictionary<ushort, RequestStream>.Enumerator _others = others;

        public RequestStream Current { get; private set; } = null!;

        public bool MoveNext()
        {
            if (_single is null && !_others.MoveNext())
                return false;

            Current = _single ?? _others.Current.Value;
            _single = null;
            return true;
        }
    }
}
