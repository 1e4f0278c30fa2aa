namespace FastCgi.AspNetCore.Requests;

/// <summary>
/// Header fields in the order they were added, without validation; names are case-insensitive. Up to
/// <see cref="IndexThreshold"/>, a linear search is fast. Threads may read it at once.
/// </summary>
internal struct HeaderTable()
{
    private const int IndexThreshold = 24;

    private KeyValuePair<string, StringValues>[] _entries = [];
    private Dictionary<string, int>? _index;

    public int Count { get; private set; }

    /// <summary>The number in <c>Content-Length</c>, which has the same value as the text.</summary>
    public long? ContentLength { get; private set; }

    public readonly ReadOnlySpan<KeyValuePair<string, StringValues>> Entries
    {
        get
        {
            // First, because another thread may add an entry, and so replace the array by a longer one.
            var count = Count;
            return _entries.AsSpan(0, count);
        }
    }

    /// <returns>The index in <see cref="Entries"/>; negative if the header does not exist.</returns>
    public int Find(string name)
    {
        if (Count > IndexThreshold)
            return FindInIndex(name);

        var entries = Entries;
        for (var i = 0; i < entries.Length; i++)
        {
            if (ReferenceEquals(entries[i].Key, name))
                return i;
        }

        for (var i = 0; i < entries.Length; i++)
        {
            if (string.Equals(entries[i].Key, name, StringComparison.OrdinalIgnoreCase))
                return i;
        }

        return -1;
    }

    public StringValues Get(string name) => Find(name) is >= 0 and var position ? _entries[position].Value : default;

    public void Set(string name, StringValues value)
    {
        var position = Find(name);
        if (position >= 0)
        {
            _entries[position] = new(_entries[position].Key, value);
            return;
        }

        if (Count == _entries.Length)
            Array.Resize(ref _entries, Math.Max(8, 2 * Count));

        if (_index is not null)
            _index[name] = Count;
        _entries[Count] = new(name, value);
        Count++;
    }

    public void SetContentLength(long value, StringValues text = default)
    {
        Set(Known.ContentLength, text.Count > 0 ? text : value.ToString(CultureInfo.InvariantCulture));
        ContentLength = value;
    }

    public bool Remove(string name)
    {
        var position = Find(name);
        if (position < 0)
            return false;

        Count--;
        // The last entry stays in the array: another thread may be reading it.
        Array.Copy(_entries, position + 1, _entries, position, Count - position);
        _index = null;
        if (name.Equals(Known.ContentLength, StringComparison.OrdinalIgnoreCase))
            ContentLength = null;
        return true;
    }

    public void Clear()
    {
        Array.Clear(_entries, 0, Count);
        Count = 0;
        _index = null;
        ContentLength = null;
    }

    private int FindInIndex(string name)
    {
        if (_index is null)
        {
            var index = new Dictionary<string, int>(Count, StringComparer.OrdinalIgnoreCase);
            for (var i = 0; i < Count; i++)
                index[_entries[i].Key] = i;
            // Only now, because another thread may read too.
            Volatile.Write(ref _index, index);
        }

        return _index.TryGetValue(name, out var position) ? position : -1;
    }
}
