using System.Collections;

namespace FastCgi.AspNetCore.Requests;

/// <summary>The application's view of headers. <c>Content-Length</c> is both a header and a number.</summary>
/// <remarks>Not locked, as in Kestrel: threads that change headers at once can spoil only their response.</remarks>
internal abstract class HeaderCollection : IHeaderDictionary
{
    private HeaderTable _table = new();
    private volatile bool _isReadOnly;

    public int Count => Loaded.Count;
    public bool IsReadOnly => _isReadOnly;

    public ICollection<string> Keys => [.. ToArray().Select(static entry => entry.Key)];
    public ICollection<StringValues> Values => [.. ToArray().Select(static entry => entry.Value)];

    public virtual long? ContentLength
    {
        get => Loaded.ContentLength;
        set
        {
            ref var table = ref Changeable;
            if (value is null)
            {
                table.Remove(Known.ContentLength);
                return;
            }

            ArgumentOutOfRangeException.ThrowIfNegative(value.Value);
            table.SetContentLength(value.Value);
        }
    }

    public StringValues this[string key]
    {
        get => TryGetValue(key, out var value) ? value : StringValues.Empty;
        set
        {
            ref var table = ref Changeable;
            ArgumentException.ThrowIfNullOrEmpty(key);
            if (value.Count == 0)
            {
                table.Remove(key);
                return;
            }

            Validate(key, value);
            Assign(ref table, key, value);
        }
    }

    StringValues IDictionary<string, StringValues>.this[string key]
    {
        get => TryGetValue(key, out var value)
            ? value
            : throw new KeyNotFoundException($"The header '{key}' does not exist.");
        set => this[key] = value;
    }

    public void Add(string key, StringValues value)
    {
        ref var table = ref Changeable;
        ArgumentException.ThrowIfNullOrEmpty(key);
        if (value.Count > 0)
            Validate(key, value);

        if (table.Find(key) >= 0)
            throw new ArgumentException($"The header '{key}' already exists.", nameof(key));

        if (value.Count > 0)
            Assign(ref table, key, value);
    }

    public bool Remove(string key) => Changeable.Remove(key);

    public void Clear() => Changeable.Clear();

    public bool ContainsKey(string key) => TryGetValue(key, out _);

    public virtual bool TryGetValue(string key, [MaybeNullWhen(false)] out StringValues value)
    {
        ref var table = ref Loaded;
        var position = key is null ? -1 : table.Find(key);
        value = position < 0 ? default : table.Entries[position].Value;
        return position >= 0;
    }

    public void Add(KeyValuePair<string, StringValues> item) => Add(item.Key, item.Value);

    public bool Contains(KeyValuePair<string, StringValues> item)
        => TryGetValue(item.Key, out var value) && value.Equals(item.Value);

    public bool Remove(KeyValuePair<string, StringValues> item) => Contains(item) && Remove(item.Key);

    public void CopyTo(KeyValuePair<string, StringValues>[] array, int arrayIndex)
        => Loaded.Entries.CopyTo(array.AsSpan(arrayIndex));

    public KeyValuePair<string, StringValues>[] ToArray() => Loaded.Entries.ToArray();

    public IEnumerator<KeyValuePair<string, StringValues>> GetEnumerator()
        => ToArray().AsEnumerable().GetEnumerator();

    IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();

    public void SetReadOnly(bool isReadOnly) => _isReadOnly = isReadOnly;

    public ref HeaderTable Table => ref _table;

    protected virtual void Load()
    {
    }

    /// <summary>Throws if a header must not be set. May call the application.</summary>
    protected virtual void Validate(string name, StringValues value)
    {
    }

    protected abstract Exception InvalidContentLength(string value);

    private ref HeaderTable Loaded
    {
        get
        {
            Load();
            return ref _table;
        }
    }

    private ref HeaderTable Changeable
    {
        get
        {
            if (IsReadOnly)
                throw new InvalidOperationException("Headers are read-only, response has already started.");
            return ref Loaded;
        }
    }

    private void Assign(ref HeaderTable table, string name, StringValues value)
    {
        if (!name.Equals(Known.ContentLength, StringComparison.OrdinalIgnoreCase))
        {
            table.Set(name, value);
            return;
        }

        var text = value.ToString();
        if (!long.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out var length))
            throw InvalidContentLength(text);
        table.SetContentLength(length, value);
    }
}
