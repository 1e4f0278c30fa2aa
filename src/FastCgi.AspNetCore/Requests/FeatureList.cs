namespace FastCgi.AspNetCore.Requests;

/// <summary>
/// Features by their types, in the order they were set: few, so that they are searched from the first. Any thread finds one without a
/// lock, while another sets one with the lock of the request held.
/// </summary>
internal sealed class FeatureList
{
    private Entry[] _entries = new Entry[4];
    private int _count;

    /// <summary>Finds a feature.</summary>
    /// <param name="key">Its type.</param>
    /// <param name="value">The feature; <see langword="null"/> if it was removed.</param>
    /// <returns>Whether it was set, or removed.</returns>
    public bool TryFind(Type key, out object? value)
    {
        for (var i = 0; TryGetAt(i, out var type, out value); i++)
        {
            if (type == key)
                return true;
        }

        return false;
    }

    /// <summary>Takes one after another.</summary>
    /// <param name="position">Which one, from 0.</param>
    /// <param name="key">Its type; <see langword="null"/> if the request ends in this instant.</param>
    /// <param name="value">The feature; <see langword="null"/> if it was removed.</param>
    /// <returns>Whether there are so many.</returns>
    public bool TryGetAt(int position, out Type? key, out object? value)
    {
        // The number first: the array that is read behind it has as many.
        if (position >= Volatile.Read(ref _count))
        {
            key = null;
            value = null;
            return false;
        }

        ref var entry = ref Volatile.Read(ref _entries)[position];
        key = entry.Key;
        value = entry.Value;
        return true;
    }

    /// <summary>Sets a feature, or removes it. With the lock of the request held.</summary>
    public void Set(Type key, object? value)
    {
        for (var i = 0; i < _count; i++)
        {
            if (_entries[i].Key == key)
            {
                _entries[i].Value = value;
                return;
            }
        }

        if (_count == _entries.Length)
        {
            var entries = new Entry[2 * _count];
            _entries.CopyTo(entries, 0);
            Volatile.Write(ref _entries, entries);
        }

        _entries[_count] = new Entry { Key = key, Value = value };
        Volatile.Write(ref _count, _count + 1);
    }

    /// <summary>Forgets all of them. With the lock of the request held.</summary>
    public void Clear()
    {
        Array.Clear(_entries, 0, _count);
        _count = 0;
    }

    private struct Entry
    {
        public Type? Key;

        public object? Value;
    }
}
