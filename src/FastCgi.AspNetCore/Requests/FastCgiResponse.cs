using FastCgi.AspNetCore.Cgi;
using FastCgi.AspNetCore.Diagnostics;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.Extensions.Primitives;

namespace FastCgi.AspNetCore.Requests;

/// <summary>
/// The response of one request: status, headers, callbacks and how far it has come. <c>.Body</c> has what is written, <c>.Starting</c>
/// how status and headers become final, <c>.Ending</c> the end; all by the same rules as Kestrel.
/// </summary>
/// <remarks>
/// Status and headers change, and become final, under the lock of the request: a change by another thread is either sent or refused. What is the
/// application's own, such as a header dictionary that it has put in place of ours or its choice of encodings, is called before the
/// lock is taken (<see cref="EnterToStart"/>); under the lock the result is taken.
/// </remarks>
internal sealed partial class FastCgiResponse : IHttpResponseFeature, IHttpResponseBodyFeature
{
    private readonly FastCgiRequest _request;
    private readonly ResponseOutput _output;
    private readonly ResponseHeaders _headers;
    private readonly bool _isHead;
    private LazyResponseState? _lazy;
    private IHeaderDictionary _applicationHeaders;
    private int _statusCode = StatusCodes.Status200OK;
    private bool _isBufferingDisabled;
    private bool _hasStarted;

    // No callback of OnCompleted is called any more, so that none is taken.
    private bool _isCompletedFired;

    /// <param name="request">The request.</param>
    /// <param name="isHead">Whether it is HEAD, so that no body is sent.</param>
    public FastCgiResponse(FastCgiRequest request, bool isHead)
    {
        _request = request;
        _isHead = isHead;
        _output = new ResponseOutput(request);
        _headers = new ResponseHeaders(request) { EncodingSelector = Settings.EncodingSelector };
        _applicationHeaders = _headers;
        AllowSynchronousIO = Settings.AllowSynchronousIO;
    }

    public ResponseOutput Output => _output;

    public bool HasOnStarting => _lazy is { } lazy && lazy.OnStarting.Any;

    public bool HasOnCompleted => _lazy is { } lazy && lazy.OnCompleted.Any;

    /// <summary>Whether the end of the response is queued.</summary>
    public bool IsCompleted => _request is { HasLeft: true, IsAborted: false };

    /// <inheritdoc/>
    public bool HasStarted => _hasStarted;

    /// <inheritdoc/>
    public int StatusCode
    {
        get => _statusCode;
        set
        {
            using (_request.EnterLock())
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
            using (_request.EnterLock())
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
        set => _applicationHeaders = value;
    }

    /// <summary>Where the client is sent to, as it is sent.</summary>
    public string? Location => _headers.TryGetValue(Microsoft.Net.Http.Headers.HeaderNames.Location, out var location) ? location.ToString() : null;

    /// <summary>The headers of a response that has started.</summary>
    public ReadOnlySpan<KeyValuePair<string, StringValues>> SentHeaders => _headers.Entries;

    public TextWriter OpenStandardError()
    {
        using var scope = _request.EnterLock();
        _output.ThrowIfOver(typeof(HttpContext));
        return _output.OpenErrorWriter(scope);
    }

    /// <inheritdoc/>
    public void OnStarting(Func<object, Task> callback, object state)
    {
        using (_request.EnterLock())
        {
            ThrowIfStarted(nameof(OnStarting));
            Lazy.OnStarting.Push(callback, state);
        }
    }

    /// <inheritdoc/>
    public void OnCompleted(Func<object, Task> callback, object state)
    {
        using (_request.EnterLock())
        {
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
                _request.Log.ApplicationError(_request.Connection.Id, _request.TraceIdentifier, exception);
            }
        }
    }

    /// <summary>The application has returned: callbacks that register more are yet to be called.</summary>
    public void Close(RequestScope scope)
    {
        _isCompletedFired = !HasOnCompleted;
        _output.Close(scope);
    }

    private bool TryPopOnCompleted(out (Func<object, Task> Callback, object State) callback)
    {
        using (_request.EnterLock())
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

    /// <summary>
    /// Writes the header block of a response that has started: all of it was checked then, so that it cannot fail. To an authorizer's request the
    /// status stands first, because lighttpd takes headers in front of it for those of a permission, and drops them.
    /// </summary>
    public int WriteHead(Span<byte> destination, long? contentLength)
        => HeadLength = CgiResponseWriter.Write(
            destination, SentStatusCode, ReasonPhrase, _headers.Entries, _lazy?.EncodedFields, contentLength, isStatusFirst: IsAuthorizer);

    /// <summary>
    /// The length of a body that is complete before its header block is sent, for the header block: a front-end that knows it can
    /// keep its client's connection, and tell a response that was cut.
    /// </summary>
    public long? GetFinalContentLength(long length)
        => _headers.DeclaredLength is null && CanHaveContentLength ? length : null;

    /// <summary>The status that the web server gets: where it sends a file itself, it makes the answer to the client of a 200.</summary>
    private int SentStatusCode => _isOffloaded ? StatusCodes.Status200OK : _statusCode;

    private bool CanHaveContentLength => !_isHead && _statusCode is not (204 or 304);

    // Threads of one application may ask for it at the same time, and nothing that one of them puts in may be lost.
    private LazyResponseState Lazy => _lazy ?? Interlocked.CompareExchange(ref _lazy, new LazyResponseState(), null) ?? _lazy;

    private bool IsAuthorizer => _request.Role == FastCgiRole.Authorizer;

    private ResponseSettings Settings => _request.Server.Responses;

    private void ThrowIfStarted(string member)
    {
        if (HasStarted || _isOffloaded)
            throw new InvalidOperationException($"{member} cannot be set because the response has already started.");
    }
}
