using System.Text;
using FastCgi.AspNetCore.Cgi;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Known = Microsoft.Net.Http.Headers.HeaderNames;

namespace FastCgi.AspNetCore.Responses;

/// <summary>
/// The response of one request: status, headers, callbacks and how far it has come. <c>FastCgiResponse.Body.cs</c> has what is
/// written, by the same rules as Kestrel. The object serves one request after another.
/// </summary>
internal sealed partial class FastCgiResponse : IHttpResponseFeature, IHttpResponseBodyFeature
{
    private readonly ResponseOwner _owner;
    private readonly ResponseOutput _output;
    private readonly ResponseHeaders _headers = new();
    private ResponseCallbacks _onStarting;
    private ResponseCallbacks _onCompleted;
    private IHeaderDictionary _applicationHeaders;
    private Stream? _replacedBody;
    private string? _reasonPhrase;
    private int _statusCode;
    private bool _isBufferingDisabled;
    private Phase _phase;

    public FastCgiResponse(ResponseOwner owner)
    {
        _owner = owner;
        _output = new ResponseOutput(this);
        _applicationHeaders = _headers;
    }

    /// <summary>How far a response has come. Each phase is later than the one before.</summary>
    private enum Phase : byte
    {
        /// <summary>There is no request; what still holds on to the response holds on to the past.</summary>
        Closed,

        /// <summary>Status and headers may change.</summary>
        NotStarted,

        /// <summary>Status and headers are final, though they may not have been sent.</summary>
        Started,

        /// <summary>The application has said that it was all.</summary>
        Completed,
    }

    /// <summary>The bytes on their way out.</summary>
    public ResponseOutput Output => _output;

    /// <summary>Whether OnStarting callbacks wait to be called.</summary>
    public bool HasOnStarting => _onStarting.Any;

    /// <summary>Whether OnCompleted callbacks wait to be called.</summary>
    public bool HasOnCompleted => _onCompleted.Any;

    /// <summary>Whether the end of the response is in the line.</summary>
    public bool IsCompleted => _phase == Phase.Completed;

    /// <inheritdoc/>
    public bool HasStarted => _phase >= Phase.Started;

    /// <inheritdoc/>
    public int StatusCode
    {
        get => _statusCode;
        set
        {
            ThrowIfStarted(nameof(StatusCode));
            _statusCode = value;
        }
    }

    /// <inheritdoc/>
    public string? ReasonPhrase
    {
        get => _reasonPhrase;
        set
        {
            ThrowIfStarted(nameof(ReasonPhrase));
            _reasonPhrase = value;
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

    /// <summary>Begins the response of another request.</summary>
    public void Begin(RecordOutput connection, ushort requestId, long? maxBufferSize, Func<string, Encoding?>? encodingSelector)
    {
        _statusCode = StatusCodes.Status200OK;
        _reasonPhrase = null;
        HeadLength = 0;
        _replacedBody = null;
        _isBufferingDisabled = false;
        _isOffloaded = false;
        _applicationHeaders = _headers;
        _headers.EncodingSelector = encodingSelector;
        _headers.Begin();
        _output.Begin(connection, requestId, maxBufferSize ?? long.MaxValue);
        BeginBody();
        _phase = Phase.NotStarted;
    }

    /// <summary>The web server's error log.</summary>
    /// <param name="maxLength">The bytes that may be written to it.</param>
    public TextWriter OpenStandardError(long? maxLength)
    {
        lock (_output)
        {
            ObjectDisposedException.ThrowIf(_phase == Phase.Closed, typeof(HttpContext));
            return _output.OpenErrorWriter(maxLength);
        }
    }

    /// <inheritdoc/>
    public void OnStarting(Func<object, Task> callback, object state)
    {
        ThrowIfStarted(nameof(OnStarting));
        _onStarting.Push(callback, state);
    }

    /// <inheritdoc/>
    public void OnCompleted(Func<object, Task> callback, object state)
    {
        ThrowIfClosed();
        _onCompleted.Push(callback, state);
    }

    /// <summary>Calls the OnCompleted callbacks; one that throws is logged, and the others go on.</summary>
    public async Task FireOnCompletedAsync()
    {
        while (_onCompleted.Any)
        {
            var (callback, state) = _onCompleted.Pop();
            try
            {
                await callback(state);
            }
            catch (Exception exception)
            {
                _owner.OnCallbackFailed(exception);
            }
        }
    }

    /// <summary>Whether the application chooses encodings for its headers.</summary>
    public bool HasOwnEncodings => _headers.EncodingSelector is not null;

    /// <summary>The bytes of the header block, once it is written.</summary>
    public int HeadLength { get; private set; }

    /// <summary>The most bytes of the header block.</summary>
    public int GetMaxHeadLength() => CgiResponseWriter.GetMaxLength(_headers.Entries, _reasonPhrase, _headers.EncodingSelector);

    /// <summary>Writes the header block.</summary>
    public int WriteHead(Span<byte> destination, long? contentLength)
    {
        var statusCode = _isOffloaded ? StatusCodes.Status200OK : _statusCode;
        return HeadLength = CgiResponseWriter.Write(
            destination, statusCode, _reasonPhrase, _headers.Entries, contentLength, _headers.EncodingSelector, _owner.PutsStatusFirst);
    }

    private bool CanHaveContentLength => !_owner.IsHeadRequest && _statusCode is not (204 or 304);

    /// <summary>
    /// The length of a body that is complete before its header block is sent, for the header block: a front-end that knows it can
    /// keep its client's connection, and tell a response that was cut.
    /// </summary>
    public long? GetFinalContentLength(long length)
        => _headers.ContentLength is null && CanHaveContentLength ? length : null;

    /// <summary>The request is over: what still holds on to the response gets an <see cref="ObjectDisposedException"/>.</summary>
    public void Close()
    {
        lock (_output)
        {
            _phase = Phase.Closed;
            CloseBody();
            _output.Close();
        }

        _onStarting.Clear();
        _onCompleted.Clear();
    }

    private void ThrowIfClosed() => ObjectDisposedException.ThrowIf(_phase == Phase.Closed, typeof(HttpResponse));

    private void ThrowIfStarted(string member)
    {
        ThrowIfClosed();
        if (HasStarted)
            throw new InvalidOperationException($"{member} cannot be set because the response has already started.");
    }
}
