using System.Collections;
using System.Diagnostics.CodeAnalysis;
using System.Globalization;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Primitives;
using Known = Microsoft.Net.Http.Headers.HeaderNames;

namespace FastCgi.AspNetCore.Cgi;

/// <summary>
/// Headers in the order they were added: an array that is searched from its start, which is fast for a dozen entries; a dictionary
/// helps where there are more than <see cref="IndexThreshold"/>. Names compare ordinal and without regard to case. <c>Content-Length</c> as text and
/// <see cref="ContentLength"/> are one value.
/// </summary>
/// <remarks>The next request uses the array again, unless it has become larger than <see cref="MaxKeptCapacity"/>.</remarks>
internal abstract class HeaderCollection : IHeaderDictionary
{
    private const int IndexThreshold = 24;
    private const int MaxKeptCapacity = 64;

    /// <summary>Of a body whose length nobody has told.</summary>
    protected const long UnknownLength = -1;

    private KeyValuePair<string, StringValues>[] _entries = [];
    private Dictionary<string, int>? _index;
    private int _count;
    private bool _hasIndex;
    private long _contentLength = UnknownLength;

    /// <summary>The entries, in order.</summary>
    public ReadOnlySpan<KeyValuePair<string, StringValues>> Entries
    {
        get
        {
            Load();
            return _entries.AsSpan(0, _count);
        }
    }

    public int Count
    {
        get
        {
            Load();
            return _count;
        }
    }

    public bool IsReadOnly { get; protected set; }

    public ICollection<string> Keys => [.. Entries.ToArray().Select(static entry => entry.Key)];

    public ICollection<StringValues> Values => [.. Entries.ToArray().Select(static entry => entry.Value)];

    /// <inheritdoc/>
    public virtual long? ContentLength
    {
        get
        {
            Load();
            return _contentLength == UnknownLength ? null : _contentLength;
        }

        set
        {
            if (value is null)
            {
                Remove(Known.ContentLength);
                return;
            }

            ArgumentOutOfRangeException.ThrowIfNegative(value.Value);
            PrepareChange();
            Store(Known.ContentLength, value.Value.ToString(CultureInfo.InvariantCulture));
            _contentLength = value.Value;
        }
    }

    public StringValues this[string key]
    {
        get => TryGetValue(key, out var value) ? value : StringValues.Empty;
        set
        {
            ArgumentException.ThrowIfNullOrEmpty(key);
            if (value.Count == 0)
            {
                Remove(key);
                return;
            }

            PrepareChange();
            Validate(key, value);
            Assign(key, value);
        }
    }

    StringValues IDictionary<string, StringValues>.this[string key]
    {
        get => TryGetValue(key, out var value) ? value : throw new KeyNotFoundException($"The header '{key}' is not there.");
        set => this[key] = value;
    }

    public void Add(string key, StringValues value)
    {
        ArgumentException.ThrowIfNullOrEmpty(key);
        PrepareChange();
        if (Find(key) >= 0)
            throw new ArgumentException($"The header '{key}' is there already.", nameof(key));

        if (value.Count == 0)
            return;

        Validate(key, value);
        Assign(key, value);
    }

    public bool Remove(string key)
    {
        PrepareChange();
        var position = Find(key);
        if (position < 0)
            return false;

        _count--;
        Array.Copy(_entries, position + 1, _entries, position, _count - position);
        _entries[_count] = default;
        _hasIndex = false;
        if (IsContentLength(key))
            _contentLength = UnknownLength;
        return true;
    }

    public void Clear()
    {
        PrepareChange();
        Reset();
    }

    public bool ContainsKey(string key) => TryGetValue(key, out _);

    public virtual bool TryGetValue(string key, [MaybeNullWhen(false)] out StringValues value)
    {
        Load();
        var position = key is null ? -1 : Find(key);
        if (position < 0)
        {
            value = default;
            return false;
        }

        value = _entries[position].Value;
        return true;
    }

    public void Add(KeyValuePair<string, StringValues> item) => Add(item.Key, item.Value);

    public bool Contains(KeyValuePair<string, StringValues> item) => TryGetValue(item.Key, out var value) && value.Equals(item.Value);

    public bool Remove(KeyValuePair<string, StringValues> item) => Contains(item) && Remove(item.Key);

    public void CopyTo(KeyValuePair<string, StringValues>[] array, int arrayIndex) => Entries.CopyTo(array.AsSpan(arrayIndex));

    public IEnumerator<KeyValuePair<string, StringValues>> GetEnumerator()
    {
        Load();
        for (var i = 0; i < _count; i++)
            yield return _entries[i];
    }

    IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();

    /// <summary>Fills a collection that is made when it is asked for.</summary>
    protected virtual void Load()
    {
    }

    /// <summary>Refuses a header that must not be set.</summary>
    protected virtual void Validate(string name, StringValues value)
    {
    }

    /// <summary>The exception for a <c>Content-Length</c> that is not a number.</summary>
    protected abstract Exception InvalidContentLength(string value);

    /// <summary>Adds a header without validation; a name that is there gets a further value.</summary>
    protected void Append(string name, string value, string? separator = null)
    {
        var position = Find(name);
        if (position < 0)
            Store(name, value);
        else if (separator is null)
            _entries[position] = new(_entries[position].Key, StringValues.Concat(_entries[position].Value, value));
        else
            _entries[position] = new(_entries[position].Key, string.Concat(_entries[position].Value.ToString(), separator, value));
    }

    /// <summary>Notes the length that the server knows, without a header text.</summary>
    protected void SetKnownContentLength(long value)
    {
        Store(Known.ContentLength, value.ToString(CultureInfo.InvariantCulture));
        _contentLength = value;
    }

    /// <summary>Takes over the headers of another collection, without validation.</summary>
    protected void CopyFrom(HeaderCollection other)
    {
        Reset();
        foreach (var (name, value) in other.Entries)
            Store(name, value);
        _contentLength = other._contentLength;
    }

    /// <summary>Empties the collection for another request.</summary>
    protected void Reset()
    {
        if (_entries.Length > MaxKeptCapacity)
        {
            _entries = [];
            _index = null;
        }
        else
        {
            Array.Clear(_entries, 0, _count);
        }

        _count = 0;
        _hasIndex = false;
        _contentLength = UnknownLength;
    }

    private void Assign(string name, StringValues value)
    {
        if (IsContentLength(name))
        {
            var text = value.ToString();
            if (!long.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out var length))
                throw InvalidContentLength(text);
            _contentLength = length;
        }

        Store(name, value);
    }

    private void Store(string name, StringValues value)
    {
        var position = Find(name);
        if (position >= 0)
        {
            _entries[position] = new(_entries[position].Key, value);
            return;
        }

        if (_count == _entries.Length)
            Array.Resize(ref _entries, Math.Max(8, 2 * _count));

        if (_hasIndex)
            _index![name] = _count;
        _entries[_count++] = new(name, value);
    }

    private int Find(string name)
    {
        if (_count > IndexThreshold)
            return FindInIndex(name);

        for (var i = 0; i < _count; i++)
        {
            if (ReferenceEquals(_entries[i].Key, name))
                return i;
        }

        for (var i = 0; i < _count; i++)
        {
            if (string.Equals(_entries[i].Key, name, StringComparison.OrdinalIgnoreCase))
                return i;
        }

        return -1;
    }

    private int FindInIndex(string name)
    {
        if (!_hasIndex)
        {
            _index ??= new Dictionary<string, int>(StringComparer.OrdinalIgnoreCase);
            _index.Clear();
            for (var i = 0; i < _count; i++)
                _index[_entries[i].Key] = i;
            _hasIndex = true;
        }

        return _index!.TryGetValue(name, out var position) ? position : -1;
    }

    private void PrepareChange()
    {
        if (IsReadOnly)
            throw new InvalidOperationException("Headers are read-only, response has already started.");

        Load();
    }

    private static bool IsContentLength(string name) => string.Equals(name, Known.ContentLength, StringComparison.OrdinalIgnoreCase);
}
