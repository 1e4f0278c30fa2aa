using System.Collections;
using System.Diagnostics.CodeAnalysis;

namespace FastCgi.AspNetCore.Requests;

/// <summary>The application's view of headers. <c>Content-Length</c> is both a header and a number.</summary>
/// <remarks>
/// Locked, because for a handler that returns <c>Task&lt;string&gt;</c>, a minimal API sets the content type at its
/// first await, while the continuation changes headers on another thread.
/// </remarks>
internal abstract class HeaderCollection(RequestLock requestLock) : IHeaderDictionary
{
    private HeaderTable _table = new();
    private volatile bool _isReadOnly;

    public int Count
    {
        get
        {
            using var scope = EnterToRead();
            return In(scope).Count;
        }
    }

    public bool IsReadOnly => _isReadOnly;

    /// <summary>Whether the application has set a header that belongs to the web server.</summary>
    public bool HasSymptom { get; protected set; }

    public ICollection<string> Keys => [.. ToArray().Select(static entry => entry.Key)];
    public ICollection<StringValues> Values => [.. ToArray().Select(static entry => entry.Value)];

    public virtual long? ContentLength
    {
        get
        {
            using var scope = EnterToRead();
            return In(scope).ContentLength;
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
            In(scope).SetContentLength(value.Value);
        }
    }

    /// <summary>The headers after they became read-only, which need no lock.</summary>
    public ref readonly HeaderTable Final
    {
        get
        {
            if (Invariants.AreChecked)
                Invariants.Require(IsReadOnly, "The headers can still change.");
            return ref _table;
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
        if (value.Count > 0)
            Validate(key, value);

        using var scope = EnterToChange();
        if (In(scope).Find(key) >= 0)
            throw new ArgumentException($"The header '{key}' already exists.", nameof(key));

        if (value.Count > 0)
            Assign(scope, key, value);
    }

    public bool Remove(string key)
    {
        using var scope = EnterToChange();
        return In(scope).Remove(key);
    }

    public void Clear()
    {
        using var scope = EnterToChange();
        In(scope).Clear();
    }

    public bool ContainsKey(string key) => TryGetValue(key, out _);

    public virtual bool TryGetValue(string key, [MaybeNullWhen(false)] out StringValues value)
    {
        using var scope = EnterToRead();
        ref var table = ref In(scope);
        var position = key is null ? -1 : table.Find(key);
        value = position < 0 ? default : table.Entries[position].Value;
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
        using var scope = EnterToRead();
        In(scope).Entries.CopyTo(array.AsSpan(arrayIndex));
    }

    public KeyValuePair<string, StringValues>[] ToArray()
    {
        using var scope = EnterToRead();
        return In(scope).Entries.ToArray();
    }

    public IEnumerator<KeyValuePair<string, StringValues>> GetEnumerator()
        => ToArray().AsEnumerable().GetEnumerator();

    IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();

    /// <summary>Fills a lazy collection. Called without the lock.</summary>
    protected virtual void Load()
    {
    }

    protected RequestScope EnterLock() => requestLock.EnterLock();

    /// <summary>Throws if a header must not be set. Called without the lock: it may call the application.</summary>
    protected virtual void Validate(string name, StringValues value)
    {
    }

    protected abstract Exception InvalidContentLength(string value);

    public void SetReadOnly(RequestScope scope, bool isReadOnly)
    {
        scope.Require(requestLock);
        _isReadOnly = isReadOnly;
    }

    public ref HeaderTable In(RequestScope scope)
    {
        scope.Require(requestLock);
        return ref _table;
    }

    private void Assign(RequestScope scope, string name, StringValues value)
    {
        if (!name.Equals(Known.ContentLength, StringComparison.OrdinalIgnoreCase))
        {
            In(scope).Set(name, value);
            return;
        }

        var text = value.ToString();
        if (!long.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out var length))
            throw InvalidContentLength(text);
        In(scope).SetContentLength(length, value);
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
        throw new InvalidOperationException("Headers are read-only, response has already started.");
    }
}
