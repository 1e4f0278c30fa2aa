using System.Collections;
using System.Diagnostics.CodeAnalysis;
using Microsoft.Extensions.Primitives;

namespace FastCgi.AspNetCore.Requests;

/// <summary>
/// Headers in the order they were added. A linear search is fast for a dozen entries; above
/// <see cref="IndexThreshold"/>, a dictionary helps. Names are case-insensitive. The text of <c>Content-Length</c> and
/// <see cref="ContentLength"/> are one value.
/// </summary>
/// <remarks>
/// Every member takes the lock, because even an application that uses one thread at a time changes headers from two. If
/// a handler returns <c>Task&lt;string&gt;</c>, a minimal API sets the content type at its first await, while the
/// continuation runs on another thread.
/// </remarks>
internal abstract class HeaderCollection(RequestLock requestLock) : IHeaderDictionary
{
    private const int IndexThreshold = 24;

    protected const long UnknownLength = -1;

    private KeyValuePair<string, StringValues>[] _entries = [];
    private Dictionary<string, int>? _index;
    private int _count;
    private volatile bool _isReadOnly;
    private long _contentLength = UnknownLength;

    public int Count
    {
        get
        {
            using (EnterToRead())
                return _count;
        }
    }

    public bool IsReadOnly
    {
        get => _isReadOnly;
        protected set => _isReadOnly = value;
    }

    public ICollection<string> Keys => [.. ToArray().Select(static entry => entry.Key)];
    public ICollection<StringValues> Values => [.. ToArray().Select(static entry => entry.Value)];

    public virtual long? ContentLength
    {
        get
        {
            using (EnterToRead())
                return DeclaredLength;
        }

        set
        {
            if (value is null)
            {
                Remove(Known.ContentLength);
                return;
            }

            ArgumentOutOfRangeException.ThrowIfNegative(value.Value);
            using var scope = EnterToChange();
            StoreContentLength(scope, value.Value);
        }
    }

    public int Version { get; private set; }

    /// <summary>The declared length. Once the headers are read-only, it needs no lock.</summary>
    public long? DeclaredLength => _contentLength == UnknownLength ? null : _contentLength;

    /// <summary>The entries, in order. Once the headers are read-only, they need no lock.</summary>
    public ReadOnlySpan<KeyValuePair<string, StringValues>> Entries => _entries.AsSpan(0, _count);

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

            // Without the lock, because it may call the application.
            ThrowIfReadOnly();
            Validate(key, value);
            using var scope = EnterToChange();
            Assign(scope, key, value);
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
        ArgumentException.ThrowIfNullOrEmpty(key);
        ThrowIfReadOnly();
        if (value.Count > 0)
            Validate(key, value);

        using var scope = EnterToChange();
        if (Find(key) >= 0)
            throw new ArgumentException($"The header '{key}' already exists.", nameof(key));

        if (value.Count > 0)
            Assign(scope, key, value);
    }

    public bool Remove(string key)
    {
        using var scope = EnterToChange();
        var position = Find(key);
        if (position < 0)
            return false;

        Version++;
        _count--;
        Array.Copy(_entries, position + 1, _entries, position, _count - position);
        _entries[_count] = default;
        _index = null;
        if (IsContentLength(key))
            _contentLength = UnknownLength;
        return true;
    }

    public void Clear()
    {
        using var scope = EnterToChange();
        Reset(scope);
    }

    public bool ContainsKey(string key) => TryGetValue(key, out _);

    public virtual bool TryGetValue(string key, [MaybeNullWhen(false)] out StringValues value)
    {
        using var scope = EnterToRead();
        var position = key is null ? -1 : Find(key);
        value = position < 0 ? default : _entries[position].Value;
        return position >= 0;
    }

    public void Add(KeyValuePair<string, StringValues> item) => Add(item.Key, item.Value);

    public bool Contains(KeyValuePair<string, StringValues> item)
        => TryGetValue(item.Key, out var value) && value.Equals(item.Value);

    public bool Remove(KeyValuePair<string, StringValues> item)
    {
        using (EnterToChange())
            return Contains(item) && Remove(item.Key);
    }

    public void CopyTo(KeyValuePair<string, StringValues>[] array, int arrayIndex)
    {
        using (EnterToRead())
            Entries.CopyTo(array.AsSpan(arrayIndex));
    }

    /// <summary>Takes a snapshot of the entries, in order.</summary>
    public KeyValuePair<string, StringValues>[] ToArray()
    {
        using (EnterToRead())
            return Entries.ToArray();
    }

    public IEnumerator<KeyValuePair<string, StringValues>> GetEnumerator()
    {
        for (var i = 0; TryGetAt(i, out var entry); i++)
            yield return entry;
    }

    IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();

    /// <summary>Fills a lazy collection. Called without the lock.</summary>
    protected virtual void Load()
    {
    }

    protected RequestScope EnterLock() => requestLock.EnterLock();

    /// <summary>Throws if a header must not be set. Called without the lock.</summary>
    protected virtual void Validate(string name, StringValues value)
    {
    }

    /// <summary>Creates the exception for a <c>Content-Length</c> that is not a number.</summary>
    protected abstract Exception InvalidContentLength(string value);

    /// <summary>Adds a header, or a value to an existing one, without validation.</summary>
    protected void Append(RequestScope scope, string name, string value, string? separator = null)
    {
        var position = Find(name);
        if (position < 0)
            Store(scope, name, value);
        else if (separator is null)
            Store(scope, name, StringValues.Concat(_entries[position].Value, value));
        else
            Store(scope, name, string.Concat(_entries[position].Value.ToString(), separator, value));
    }

    protected void StoreContentLength(RequestScope scope, long value)
    {
        Store(scope, Known.ContentLength, value.ToString(CultureInfo.InvariantCulture));
        _contentLength = value;
    }

    /// <summary>Takes the headers of a collection that has already validated them.</summary>
    public void TakeFrom(RequestScope scope, HeaderCollection other)
    {
        Reset(scope);
        foreach (var (name, value) in other.Entries)
            Store(scope, name, value);
        _contentLength = other._contentLength;
    }

    protected void Reset(RequestScope scope)
    {
        Array.Clear(_entries, 0, _count);
        Version++;
        _count = 0;
        _index = null;
        _contentLength = UnknownLength;
    }

    private void Assign(RequestScope scope, string name, StringValues value)
    {
        if (IsContentLength(name))
        {
            var text = value.ToString();
            if (!long.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out var length))
                throw InvalidContentLength(text);
            _contentLength = length;
        }

        Store(scope, name, value);
    }

    /// <summary>Sets a header without validation.</summary>
    protected void Store(RequestScope scope, string name, StringValues value)
    {
        Version++;
        var position = Find(name);
        if (position >= 0)
        {
            _entries[position] = new(_entries[position].Key, value);
            return;
        }

        if (_count == _entries.Length)
            Array.Resize(ref _entries, Math.Max(8, 2 * _count));

        if (_index is not null)
            _index[name] = _count;
        _entries[_count++] = new(name, value);
    }

    /// <returns>The index in <see cref="Entries"/>; negative if the header does not exist.</returns>
    protected int Find(string name)
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
        if (_index is null)
        {
            _index = new Dictionary<string, int>(_count, StringComparer.OrdinalIgnoreCase);
            for (var i = 0; i < _count; i++)
                _index[_entries[i].Key] = i;
        }

        return _index.TryGetValue(name, out var position) ? position : -1;
    }

    private bool TryGetAt(int position, out KeyValuePair<string, StringValues> entry)
    {
        using var scope = EnterToRead();
        entry = position < _count ? _entries[position] : default;
        return position < _count;
    }

    private RequestScope EnterToRead()
    {
        Load();
        return EnterLock();
    }

    private RequestScope EnterToChange()
    {
        var scope = EnterToRead();
        if (!IsReadOnly)
            return scope;

        scope.Dispose();
        throw ReadOnlyException();
    }

    private void ThrowIfReadOnly()
    {
        if (IsReadOnly)
            throw ReadOnlyException();
    }

    private static InvalidOperationException ReadOnlyException()
        => new("Headers are read-only, response has already started.");

    private static bool IsContentLength(string name)
        => string.Equals(name, Known.ContentLength, StringComparison.OrdinalIgnoreCase);
}
