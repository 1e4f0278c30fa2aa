using FastCgi.AspNetCore.Cgi;
using FastCgi.AspNetCore.Diagnostics;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;

namespace FastCgi.AspNetCore.Responses;

/// <summary>
/// The response of one request: status, headers, callbacks and how far it has come. <c>.Body</c> has what is written, <c>.Starting</c>
/// how status and headers become final, <c>.Ending</c> the end; all by the same rules as Kestrel. The object serves one request after
/// another.
/// </summary>
/// <remarks>
/// Status and headers change, and become final, under the lock: a change by another thread is either sent or refused. What is the
/// application's own, such as a header dictionary that it has put in place of ours or its choice of encodings, is called before the
/// lock is taken (<see cref="EnterToStart"/>); under the lock the generation is checked and the result is taken.
/// </remarks>
internal sealed partial class FastCgiResponse : IHttpResponseFeature, IHttpResponseBodyFeature
{
    private readonly ResponseOwner _owner;
    private readonly ResponseOutput _output;
    private readonly ResponseHeaders _headers;
    private ResponseSettings _settings = null!;
    private LazyResponseState? _lazy;
    private IHeaderDictionary _applicationHeaders;
    private int _statusCode;
    private bool _isHead;
    private bool _isAuthorizer;
    private bool _isBufferingDisabled;
    private Phase _phase;

    // No callback of OnCompleted is called any more, so that none is taken.
    private bool _isCompletedFired;

    public FastCgiResponse(ResponseOwner owner)
    {
        _owner = owner;
        _output = new ResponseOutput(this);
        _headers = new ResponseHeaders(_output);
        _applicationHeaders = _headers;
    }

    /// <summary>How far a response has come. Each phase is later than the one before.</summary>
    private enum Phase : byte
    {
        /// <summary>There is no request; what still refers to the response belongs to the past.</summary>
        Closed,

        /// <summary>Status and headers may change.</summary>
        NotStarted,

        /// <summary>Status and headers are final, though they may not have been sent.</summary>
        Started,

        /// <summary>The end is queued.</summary>
        Completed,
    }

    /// <summary>The bytes on their way out, which are the lock of the response too.</summary>
    public ResponseOutput Output => _output;

    /// <summary>Whether OnStarting callbacks wait to be called.</summary>
    public bool HasOnStarting => _lazy is { } lazy && lazy.OnStarting.Any;

    /// <summary>Whether OnCompleted callbacks wait to be called.</summary>
    public bool HasOnCompleted => _lazy is { } lazy && lazy.OnCompleted.Any;

    /// <summary>Whether the end of the response is queued.</summary>
    public bool IsCompleted => _phase == Phase.Completed;

    /// <inheritdoc/>
    public bool HasStarted => _phase >= Phase.Started;

    /// <inheritdoc/>
    public int StatusCode
    {
        get => _statusCode;
        set
        {
            using (_output.EnterLock())
            {
                ThrowIfStarted(nameof(StatusCode));
                _statusCode = value;
            }
        }
    }

    /// <inheritdoc/>
    /// <exception cref="InvalidOperationException">The response has started, or the phrase has a control character (RFC 9112, section 4).</exception>
    public string? ReasonPhrase
    {
        get => _lazy?.ReasonPhrase;
        set
        {
            using (_output.EnterLock())
            {
                ThrowIfStarted(nameof(ReasonPhrase));
                if (value is not null && HttpCharacters.IndexOfControl(value) is >= 0 and var position)
                    throw new InvalidOperationException($"Invalid control character in the reason phrase: 0x{(int)value[position]:X4}");
                if (value is not null || _lazy is not null)
                    Lazy.ReasonPhrase = value;
            }
        }
    }

    /// <inheritdoc/>
    public IHeaderDictionary Headers
    {
        get => _applicationHeaders;
        set
        {
            ThrowIfClosed();
            _applicationHeaders = value;
        }
    }

    /// <summary>Where the client is sent to, as it is sent.</summary>
    public string? Location => _headers.TryGetValue(Microsoft.Net.Http.Headers.HeaderNames.Location, out var location) ? location.ToString() : null;

    /// <summary>Begins the response of another request.</summary>
    /// <param name="connection">The outlet.</param>
    /// <param name="requestId">The request.</param>
    /// <param name="settings">What the responses of the server share.</param>
    /// <param name="isHead">Whether the request is HEAD, so that no body is sent.</param>
    /// <param name="isAuthorizer">
    /// Whether the request is in the role Authorizer: 200 allows the access; the status stands first, because lighttpd takes headers in front
    /// of it for those of a permission, and drops them; and no file is left to the web server, because the response would be a 200 then.
    /// </param>
    public void Begin(RecordOutput connection, ushort requestId, ResponseSettings settings, bool isHead, bool isAuthorizer)
    {
        _settings = settings;
        _isHead = isHead;
        _isAuthorizer = isAuthorizer;
        _statusCode = StatusCodes.Status200OK;
        HeadLength = 0;
        _isBufferingDisabled = false;
        _isOffloaded = false;
        _isCompletedFired = false;
        _applicationHeaders = _headers;
        AllowSynchronousIO = settings.AllowSynchronousIO;
        _headers.EncodingSelector = settings.EncodingSelector;
        _headers.Begin();
        // What a thread has put in while the request before was closed.
        _lazy?.Clear();
        _output.Begin(connection, requestId, settings);
        BeginBody();
        _phase = Phase.NotStarted;
    }

    /// <summary>The web server's error log.</summary>
    public TextWriter OpenStandardError()
    {
        using (_output.EnterLock())
        {
            ObjectDisposedException.ThrowIf(_phase == Phase.Closed, typeof(HttpContext));
            return _output.OpenErrorWriter();
        }
    }

    /// <inheritdoc/>
    public void OnStarting(Func<object, Task> callback, object state)
    {
        using (_output.EnterLock())
        {
            ThrowIfStarted(nameof(OnStarting));
            Lazy.OnStarting.Push(callback, state);
        }
    }

    /// <inheritdoc/>
    public void OnCompleted(Func<object, Task> callback, object state)
    {
        using (_output.EnterLock())
        {
            ThrowIfClosed();
            ObjectDisposedException.ThrowIf(_isCompletedFired, typeof(HttpResponse));
            Lazy.OnCompleted.Push(callback, state);
        }
    }

    /// <summary>Calls the OnCompleted callbacks; one that throws is logged, and the others go on.</summary>
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
                _owner.Log.ApplicationError(_owner.ConnectionId, _owner.TraceIdentifier, exception);
            }
        }
    }

    private bool TryPopOnCompleted(out (Func<object, Task> Callback, object State) callback)
    {
        using (_output.EnterLock())
        {
            callback = HasOnCompleted ? _lazy!.OnCompleted.Pop() : default;
            _isCompletedFired = callback.Callback is null;
            return !_isCompletedFired;
        }
    }

    /// <summary>The bytes of the header block, once it is written.</summary>
    public int HeadLength { get; private set; }

    /// <summary>The most bytes of the header block.</summary>
    public int GetMaxHeadLength() => CgiResponseWriter.GetMaxLength(_headers.Entries, ReasonPhrase, _lazy?.EncodedFields);

    /// <summary>Writes the header block of a response that has started: all of it was checked then, so that it cannot fail.</summary>
    public int WriteHead(Span<byte> destination, long? contentLength)
        => HeadLength = CgiResponseWriter.Write(
            destination, SentStatusCode, ReasonPhrase, _headers.Entries, _lazy?.EncodedFields, contentLength, isStatusFirst: _isAuthorizer);

    /// <summary>
    /// The length of a body that is complete before its header block is sent, for the header block: a front-end that knows it can
    /// keep its client's connection, and tell a response that was cut.
    /// </summary>
    public long? GetFinalContentLength(long length)
        => _headers.DeclaredLength is null && CanHaveContentLength ? length : null;

    /// <summary>The request leaves its connection with this response (<see cref="ResponseOwner.OnEnding"/>).</summary>
    public ResponseEnd OnEnding(bool isComplete) => _owner.OnEnding(isComplete);

    /// <summary>
    /// The request is over: what still refers to the response gets an <see cref="ObjectDisposedException"/>. With the lock held.
    /// </summary>
    public void Close()
    {
        _phase = Phase.Closed;
        CloseBody();
        _output.Close();
        _headers.End();
        _lazy?.Clear();
    }

    /// <summary>The status that the web server gets: where it sends a file itself, it makes the answer to the client of a 200.</summary>
    private int SentStatusCode => _isOffloaded ? StatusCodes.Status200OK : _statusCode;

    private bool CanHaveContentLength => !_isHead && _statusCode is not (204 or 304);

    // Threads of one application may ask for it at the same time, and nothing that one of them puts in may be lost.
    private LazyResponseState Lazy => _lazy ?? Interlocked.CompareExchange(ref _lazy, new LazyResponseState(), null) ?? _lazy;

    private void ThrowIfClosed() => ObjectDisposedException.ThrowIf(_phase == Phase.Closed, typeof(HttpResponse));

    private void ThrowIfStarted(string member)
    {
        ThrowIfClosed();
        if (HasStarted || _isOffloaded)
            throw new InvalidOperationException($"{member} cannot be set because the response has already started.");
    }
}
