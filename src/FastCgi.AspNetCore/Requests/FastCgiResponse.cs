namespace FastCgi.AspNetCore.Requests;

/// <summary>The response of one request, by the same rules as Kestrel.</summary>
/// <remarks>
/// Status and headers are not locked, as in Kestrel. The start encodes them without the lock, then publishes the result
/// under it: threads that change them meanwhile can spoil only this response.
/// </remarks>
internal sealed partial class FastCgiResponse : IHttpResponseFeature, IHttpResponseBodyFeature, IHttpBodyControlFeature
{
    /// <summary>The length that fits into the default fastcgi_buffer_size of nginx, with a record header.</summary>
    public const int LargeHead = 4_096 - ProtocolConstants.HeaderLength;

    private readonly FastCgiRequest _request;
    private readonly ResponseHeaders _headers;
    private readonly bool _isHead;
    private string? _reasonPhrase;

    // In reverse order of registration, changed under the lock. A callback may register more.
    private Stack<(Func<object, Task> Callback, object State)>? _onStarting;
    private Stack<(Func<object, Task> Callback, object State)>? _onCompleted;
    private int _statusCode = StatusCodes.Status200OK;
    private bool _isBufferingDisabled;

    // Whether the OnCompleted callbacks have been called, so that no more are accepted. Used under the lock.
    private bool _isCompletedFired;
    // Set once, under the lock.
    private volatile bool _hasStarted;

    public FastCgiResponse(FastCgiRequest request, bool isHead)
    {
        _request = request;
        _isHead = isHead;
        _state = new ResponseStaging(request);
        _headers = new ResponseHeaders { EncodingSelector = request.Server.Options.ResponseHeaderEncodingSelector };
        AllowSynchronousIO = request.Server.Options.AllowSynchronousIO;
    }

    public bool HasOnStarting => _onStarting is { Count: > 0 };
    public bool HasOnCompleted => _onCompleted is { Count: > 0 };
    public bool IsCompleted => _request is { IsDetached: true, IsAborted: false };
    public bool HasStarted => _hasStarted;

    public int StatusCode
    {
        get => _statusCode;
        set
        {
            ThrowIfStarted(nameof(StatusCode));
            _statusCode = value;
        }
    }

    /// <exception cref="InvalidOperationException">The response has started, or a character is invalid.</exception>
    public string? ReasonPhrase
    {
        get => _reasonPhrase;
        set
        {
            ThrowIfStarted(nameof(ReasonPhrase));
            if (value is not null && HttpCharacters.IndexOfControl(value) is >= 0 and var position)
                throw new InvalidOperationException($"Invalid control character in the reason phrase: "
                    + $"0x{(int)value[position]:X4}");
            _reasonPhrase = value;
        }
    }

    /// <summary>Copies new headers; ignores them after the start, because middleware restores originals.</summary>
    public IHeaderDictionary Headers
    {
        get => _headers;
        set
        {
            if (_headers.IsReadOnly || ReferenceEquals(value, _headers))
                return;

            KeyValuePair<string, StringValues>[] headers = [.. value];
            _headers.Clear();
            foreach (var (name, values) in headers)
                _headers[name] = values;
        }
    }

    public string? Location => _headers.TryGetValue(Known.Location, out var location) ? location.ToString() : null;

    public bool IsChallenge
        => StatusCode == StatusCodes.Status401Unauthorized && _headers.ContainsKey(Known.WWWAuthenticate);

    /// <summary>Whether advice may help: a healthy application rarely sends such responses.</summary>
    public bool HasSymptom => HeadLength > LargeHead || _headers.HasReservedHeader
        || _statusCode is 301 or 302 or 307 or 308 or 401 or 404 or 413;

    public ReadOnlySpan<KeyValuePair<string, StringValues>> SentHeaders
        => HasStarted ? _headers.Table.Entries : default;

    public TextWriter OpenStandardError()
    {
        using var scope = _request.EnterLock();
        ObjectDisposedException.ThrowIf(_request.HasReturned, typeof(HttpContext));
        return In(scope).ErrorWriter ??= new StandardErrorWriter(_request);
    }

    public void OnStarting(Func<object, Task> callback, object state)
    {
        using var scope = _request.EnterLock();
        ThrowIfStarted(nameof(OnStarting));
        ArgumentNullException.ThrowIfNull(callback);
        (_onStarting ??= new()).Push((callback, state));
    }

    public void OnCompleted(Func<object, Task> callback, object state)
    {
        using var scope = _request.EnterLock();
        ObjectDisposedException.ThrowIf(_isCompletedFired, typeof(HttpResponse));
        ArgumentNullException.ThrowIfNull(callback);
        (_onCompleted ??= new()).Push((callback, state));
    }

    /// <summary>Calls the OnCompleted callbacks. If one throws, it is logged, and the rest are still called.</summary>
    public async Task FireOnCompletedAsync()
    {
        while (TryPopOnCompleted(out var callback))
        {
            try
            {
                await callback.Callback(callback.State);
            }
            catch (Exception exception)
            {
                _request.Log.ApplicationError(_request.Connection.Id, _request.TraceIdentifier, exception);
            }
        }
    }

    /// <summary>Called after the application has returned. Callbacks may still register more callbacks.</summary>
    public void Close(ConnectionScope scope)
    {
        _isCompletedFired = !HasOnCompleted;
        ref var state = ref In(scope);
        state.Clear();
        BufferBlock.ReturnChain(state.ErrorWriter?.TakeRecords(isEnd: false));
    }

    private bool TryPopOnCompleted(out (Func<object, Task> Callback, object State) callback)
    {
        using var scope = _request.EnterLock();
        callback = HasOnCompleted ? _onCompleted!.Pop() : default;
        return !(_isCompletedFired = callback.Callback is null);
    }

    public int HeadLength { get; set; }

    private bool IsAuthorizer => _request.Role == FastCgiRole.Authorizer;

    private void ThrowIfStarted(string member)
    {
        if (_headers.IsReadOnly)
            throw new InvalidOperationException($"{member} cannot be set because the response has already started.");
    }
}
