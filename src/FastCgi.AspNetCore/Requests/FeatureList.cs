namespace FastCgi.AspNetCore.Requests;

/// <summary>
/// Features by their types, in the order they were first set: few, so that they are searched from the first. Threads use it at once, without
/// a lock: an entry stays where it is, and the next request uses it again.
/// </summary>
internal sealed class FeatureList
{
    // More than most applications set; each one that is kept is searched.
    private const int MaxKept = 16;

    private static readonly object s_removed = new();

    private Entry? _first;

    /// <summary>Finds a feature.</summary>
    /// <param name="key">Its type.</param>
    /// <param name="value">The feature; <see langword="null"/> if it was removed.</param>
    /// <returns>Whether it was set, or removed.</returns>
    public bool TryFind(Type key, out object? value)
    {
        for (var entry = Volatile.Read(ref _first); entry is not null; entry = Volatile.Read(ref entry.Next))
        {
            if (entry.Key == key)
                return entry.TryGet(out value);
        }

        value = null;
        return false;
    }

    /// <summary>Sets a feature; <see langword="null"/> removes it.</summary>
    public void Set(Type key, object? value) => Volatile.Write(ref GetEntry(key).Value, value ?? s_removed);

    /// <summary>Those that are set.</summary>
    public IEnumerable<KeyValuePair<Type, object>> Enumerate()
    {
        for (var entry = Volatile.Read(ref _first); entry is not null; entry = Volatile.Read(ref entry.Next))
        {
            if (entry.TryGet(out var value) && value is not null)
                yield return new(entry.Key, value);
        }
    }

    /// <summary>Forgets all of them.</summary>
    public void Clear()
    {
        var count = 0;
        for (var entry = _first; entry is not null; entry = entry.Next)
        {
            entry.Value = null;
            count++;
        }

        if (count > MaxKept)
            _first = null;
    }

    private Entry GetEntry(Type key)
    {
        Entry? made = null;
        ref var link = ref _first;
        while (true)
        {
            var entry = Volatile.Read(ref link);
            if (entry is null)
            {
                made ??= new Entry(key);
                entry = Interlocked.CompareExchange(ref link, made, null) ?? made;
            }

            if (entry.Key == key)
                return entry;

            link = ref entry.Next;
        }
    }

    private sealed class Entry(Type key)
    {
        public Entry? Next;

        public object? Value;

        public Type Key => key;

        public bool TryGet(out object? value)
        {
            var stored = Volatile.Read(ref Value);
            value = stored == s_removed ? null : stored;
            return stored is not null;
        }
    }
}
