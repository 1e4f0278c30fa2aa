namespace FastCgi.AspNetCore.Requests;

/// <summary>
/// Features by type, in the order in which they were first set: few, so a linear search is enough. Threads use it concurrently without a lock: an
/// entry never moves.
/// </summary>
internal sealed class FeatureList
{
    private static readonly object s_removed = new();

    private Entry? _first;

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

    public void Set(Type key, object? value) => Volatile.Write(ref GetEntry(key).Value, value ?? s_removed);

    public IEnumerable<KeyValuePair<Type, object>> Enumerate()
    {
        for (var entry = Volatile.Read(ref _first); entry is not null; entry = Volatile.Read(ref entry.Next))
        {
            if (entry.TryGet(out var value) && value is not null)
                yield return new(entry.Key, value);
        }
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
        public Type Key => key;

        public Entry? Next;
        public object? Value;

        public bool TryGet(out object? value)
        {
            var stored = Volatile.Read(ref Value);
            value = stored == s_removed ? null : stored;
            return stored is not null;
        }
    }
}
