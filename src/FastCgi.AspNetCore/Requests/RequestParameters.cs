using System.Runtime.InteropServices;
using System.Text;
using FastCgi.AspNetCore.Cgi;
using FastCgi.AspNetCore.Protocol;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Primitives;
using Known = Microsoft.Net.Http.Headers.HeaderNames;

namespace FastCgi.AspNetCore.Requests;

/// <summary>
/// The params of one request, as the bytes that came: strings are made of them when they are asked for. They lie in memory
/// outside the managed heap, of the very size, because a request that waits for minutes has nothing larger. Looked up under a lock
/// of their own, because an application may ask for them when its request is over.
/// </summary>
internal sealed unsafe class RequestParameters
{
    private const int MinCapacity = 512;
    private const int NoOffset = -1;

    private byte* _bytes;
    private int _capacity;
    private HeaderIndex _headers;
    private Dictionary<int, string>? _decoded;
    private int _hostOffset = NoOffset;
    private bool _isOver = true;
    // A mutable struct. Without an owner, so that it costs one atomic operation. A thread that has it and takes it again waits for ever, so
    // nothing that calls an application runs with it held: no exception is thrown, of which filters and handlers would run before it is
    // released, and no array is rented, of which listeners are told.
    private SpinLock _lock = new(enableThreadOwnerTracking: false);

    /// <summary>The bytes that have come.</summary>
    public int Length { get; private set; }

    /// <summary>Whether there is memory that must be freed.</summary>
    public bool HasMemory => _bytes is not null || _headers.IsBuilt;

    /// <summary>The bytes. For the connection and the request themselves, while the request is not over.</summary>
    public ReadOnlySpan<byte> Span => new(_bytes, Length);

    /// <summary>
    /// All has come: from now on the application may ask. Not before, because memory moves while params are added, and an application
    /// may still have what it was given for an earlier request.
    /// </summary>
    /// <param name="hostOffset">Where the pair of HTTP_HOST begins, if there is one.</param>
    public void Open(int? hostOffset = null)
    {
        _hostOffset = hostOffset ?? NoOffset;
        Volatile.Write(ref _isOver, false);
    }

    /// <summary>Adds what came in a record.</summary>
    /// <param name="content">A piece of the record's content.</param>
    /// <param name="isWhole">Whether the piece is the whole content, and so, with nearly every front-end, the whole stream.</param>
    public void Append(ReadOnlySpan<byte> content, bool isWhole)
    {
        var needed = Length + content.Length;
        if (needed > _capacity)
        {
            // By doubling, for what arrives in many pieces; the length that a record claims is not allocated before it is there.
            var capacity = isWhole && Length == 0 ? needed : Math.Max(Math.Max(needed, 2 * _capacity), MinCapacity);
            _bytes = (byte*)NativeMemory.Realloc(_bytes, (nuint)capacity);
            _capacity = capacity;
        }

        content.CopyTo(new Span<byte>(_bytes + Length, content.Length));
        Length = needed;
    }

    /// <summary>The request is over: frees the memory.</summary>
    public void End()
    {
        using var scope = EnterLock();
        _isOver = true;
        _hostOffset = NoOffset;
        _headers.Clear();
        _decoded = null;
        NativeMemory.Free(_bytes);
        _bytes = null;
        _capacity = 0;
        Length = 0;
    }

    /// <summary>
    /// Decodes what is beyond ASCII with the encodings that the application chooses, before it is called. Without a lock: nothing changes
    /// the params of a request that is about to run.
    /// </summary>
    public RequestRejection DecodeByApplication(CgiMapping mapping)
    {
        var rejection = mapping.DecodeByApplication(Span, out var decoded);
        _decoded = decoded;
        return rejection;
    }

    /// <summary>Finds the last variable of a name, compared without regard to case as on IIS.</summary>
    public string? GetVariable(string name, CgiMapping mapping)
    {
        using var scope = EnterToRead();
        var reader = new NameValuePairReader(Span);
        string? found = null;
        while (reader.TryRead(out var variable, out var value))
        {
            if (variable.Length == name.Length && Ascii.EqualsIgnoreCase(variable, name))
                found = mapping.DecodeVariable(variable, value);
        }

        return found;
    }

    /// <summary>The target as the front-end received it.</summary>
    public string GetRawTarget(CgiMapping mapping)
    {
        string path, query;
        using (EnterToRead())
        {
            if (CgiRequestMapper.TryGetRawTarget(Span, mapping, out path, out query) is { } target)
                return target;
        }

        return CgiRequestMapper.MakeUpRawTarget(path, query);
    }

    /// <summary>All variables in the order they came.</summary>
    public List<KeyValuePair<string, string>> GetVariables(CgiMapping mapping)
    {
        using var scope = EnterToRead();
        var variables = new List<KeyValuePair<string, string>>();
        var reader = new NameValuePairReader(Span);
        while (reader.TryRead(out var name, out var value))
            variables.Add(new(mapping.DecodeVariable(name), mapping.DecodeVariable(name, value)));
        return variables;
    }

    /// <summary>Finds the values of a header.</summary>
    public StringValues GetHeader(string name, CgiMapping mapping)
    {
        using var scope = EnterToRead();
        var parameters = Span;
        var values = StringValues.Empty;
        var isContentType = name.Equals(Known.ContentType, StringComparison.OrdinalIgnoreCase);
        if (!isContentType && HeaderNames.IsIgnored(name))
            return values;

        _headers.Build(parameters);
        var hash = HeaderNames.Hash(name);
        for (var position = 0; _headers.TryFind(hash, ref position, out var offset);)
        {
            new NameValuePairReader(parameters[offset..]).TryRead(out var variable, out var value);
            if (!isContentType && HeaderNames.IsVariableOf(variable, name))
                values = Join(values, name, Decode(offset, name, value, mapping));
            else if (isContentType && variable.SequenceEqual("CONTENT_TYPE"u8) && !value.IsEmpty)
                values = Decode(offset, name, value, mapping);
        }

        return values;
    }

    /// <summary>The last value of Host; <see langword="null"/> if there is none.</summary>
    public string? GetHost(CgiMapping mapping)
    {
        using var scope = EnterToRead();
        if (_hostOffset == NoOffset)
            return null;

        new NameValuePairReader(Span[_hostOffset..]).TryRead(out _, out var value);
        return Decode(_hostOffset, Known.Host, value, mapping);
    }

    /// <summary>Authorization as Apache names it when it rewrites internally.</summary>
    public string? GetRenamedAuthorization(CgiMapping mapping)
    {
        using var scope = EnterToRead();
        var parameters = Span;
        string? found = null;
        _headers.Build(parameters);
        var hash = HeaderNames.Hash(HeaderNames.RenamedAuthorization);
        for (var position = 0; _headers.TryFind(hash, ref position, out var offset);)
        {
            new NameValuePairReader(parameters[offset..]).TryRead(out var variable, out var value);
            if (HeaderNames.IsRenamedAuthorization(variable))
                found = mapping.DecodeVariable(variable, value);
        }

        return found;
    }

    /// <summary>
    /// Calls back with each header in turn, repeated ones repeated; without Content-Length and Content-Type, which cannot be. The lock is
    /// held.
    /// </summary>
    public void ReadHeaders<TState>(CgiMapping mapping, TState state, Action<TState, string, string> add)
    {
        using var scope = EnterToRead();
        var reader = new NameValuePairReader(Span);
        for (var offset = 0; reader.TryRead(out var variable, out var value); offset = reader.Offset)
        {
            if (HeaderNames.TryGetHeaderName(variable, out var name) && !HeaderNames.IsIgnored(name))
                add(state, name, Decode(offset, name, value, mapping));
        }
    }

    private string Decode(int offset, string name, ReadOnlySpan<byte> value, CgiMapping mapping)
        => _decoded is not null && _decoded.TryGetValue(offset, out var text) ? text : mapping.DecodeHeader(name, value);

    /// <summary>Repeated variables are a repeated header; cookies become one (RFC 9113, section 8.2.3).</summary>
    private static StringValues Join(StringValues values, string name, string value)
    {
        if (values.Count == 0)
            return value;

        return name.Equals(Known.Cookie, StringComparison.OrdinalIgnoreCase)
            ? string.Concat(values.ToString(), "; ", value)
            : StringValues.Concat(values, value);
    }

    private LockScope EnterToRead()
    {
        var scope = EnterLock();
        if (!_isOver)
            return scope;

        scope.Dispose();
        throw new ObjectDisposedException(typeof(HttpRequest).FullName);
    }

    private LockScope EnterLock()
    {
        var isTaken = false;
        _lock.Enter(ref isTaken);
        return new LockScope(this);
    }

    private readonly ref struct LockScope(RequestParameters parameters)
    {
        public void Dispose() => parameters._lock.Exit(useMemoryBarrier: false);
    }
}
