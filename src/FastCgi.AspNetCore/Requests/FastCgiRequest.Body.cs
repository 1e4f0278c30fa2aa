using System.Buffers;
using System.IO.Pipelines;
using FastCgi.AspNetCore.Cgi;
using FastCgi.AspNetCore.Diagnostics;
using FastCgi.AspNetCore.Responses;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;

namespace FastCgi.AspNetCore.Requests;

/// <content>
/// The request body. The connection puts STDIN in under its lock; what the application calls is under <see cref="BodyLock"/>, which
/// is taken before the other one.
/// </content>
internal abstract partial class FastCgiRequest :
    IHttpRequestBodyDetectionFeature,
    IRequestBodyPipeFeature,
    IHttpBodyControlFeature,
    IHttpMaxRequestBodySizeFeature
{
    private RequestBody? _body;
    private RequestBody? _spareBody;
    private RequestBodyReader? _bodyReader;
    private RequestBodyStream? _bodyStream;
    private Exception? _bodyError;
    private long? _maxBodySize;
    private int _bodyGeneration;
    private bool _isBodyOpen;
    private bool _isStdinOver;
    private bool _isBodyReaderOver;
    private bool _hasStartedReading;
    private bool _isStaleBodyUseSeen;

    bool IHttpRequestBodyDetectionFeature.CanHaveBody
    {
        get
        {
            if (_head.ContentLength is { } length)
                return length > 0;

            if (_isStdinOver)
                return _body is { ReceivedLength: > 0 };

            // The end of STDIN is still to come. Front-ends that stream tell of a body by the header, HTTP/2 clients not at all.
            return _head.HasTransferEncoding || _body is not null || IsMethodWithBody(_head.Method);
        }
    }

    PipeReader IRequestBodyPipeFeature.Reader
    {
        get
        {
            if (_lazy?.Body is not { } replaced)
                return OwnBodyReader;

            if (Lazy.BodyReader is null)
            {
                Lazy.BodyReader = PipeReader.Create(replaced);
                Response.OnCompleted(static async reader => await ((PipeReader)reader).CompleteAsync(), Lazy.BodyReader);
            }

            return Lazy.BodyReader;
        }
    }

    Stream IHttpRequestFeature.Body
    {
        get => _lazy?.Body ?? OwnBodyStream;
        set
        {
            ThrowIfOver();
            Lazy.Body = ReferenceEquals(value, _bodyStream) ? null : value;
            Lazy.BodyReader = null;
        }
    }

    bool IHttpBodyControlFeature.AllowSynchronousIO
    {
        get => Response.AllowSynchronousIO;
        set
        {
            ThrowIfOver();
            Response.AllowSynchronousIO = value;
        }
    }

    bool IHttpMaxRequestBodySizeFeature.IsReadOnly => _hasStartedReading;

    long? IHttpMaxRequestBodySizeFeature.MaxRequestBodySize
    {
        get => _maxBodySize;
        set
        {
            ThrowIfOver();
            if (_hasStartedReading)
                throw new InvalidOperationException("The maximum request body size cannot be modified after the app has already started reading from the request body.");
            if (value is not null)
                ArgumentOutOfRangeException.ThrowIfNegative(value.Value);
            _maxBodySize = value;
        }
    }

    /// <summary>Whether the end of the input streams has come, or none is to come.</summary>
    public bool IsInputOver => _isStdinOver && _data is null or { IsInputOver: true };

    /// <summary>The bytes of the body that wait to be read, while there are more to come. Under the lock of the connection.</summary>
    public long UnreadBodyLength => Math.Max(_body?.UnreadLength ?? 0, _data?.UnreadLength ?? 0);

    // One lock for all that the application does to a request and its response: one more object would be one for each that waits.
    private ResponseOutput BodyLock => Response.Output;

    private RequestBodyReader OwnBodyReader
    {
        get
        {
            using (BodyLock.EnterLock())
                return _isBodyOpen ? _bodyReader ??= new(this, _bodyGeneration) : new(this, _bodyGeneration - 1);
        }
    }

    private RequestBodyStream OwnBodyStream
    {
        get
        {
            using (BodyLock.EnterLock())
                return _isBodyOpen ? _bodyStream ??= new(this, _bodyGeneration) : new(this, _bodyGeneration - 1);
        }
    }

    /// <summary>Takes content of STDIN. Under the lock of the connection.</summary>
    public void AppendBody(ReadOnlySpan<byte> content)
    {
        if (!_isStdinOver && _head.ContentLength != 0)
            (_body ??= CreateBody()).Append(content);
    }

    /// <summary>STDIN has ended. Under the lock of the connection.</summary>
    public void EndStdin()
    {
        if (_isStdinOver)
            return;

        _isStdinOver = true;
        if (_body is null && _head.ContentLength > 0)
            _body = CreateBody();
        _body?.EndInput();
    }

    /// <summary>The body has held the other requests up for too long: no more of it is taken. With the lock of the connection held.</summary>
    /// <returns>What is to be reported, outside of the lock.</returns>
    public Action RefuseBody()
    {
        const RequestRejection Reason = RequestRejection.RequestBodyBacklog;
        var (log, connectionId, traceIdentifier, length) = (Server.Log, Connection.Id, TraceIdentifier, UnreadBodyLength);
        FailBody(new BadHttpRequestException(Reason.GetReason(), Reason.GetStatusCode()));
        return () => log.RequestBodyRefused(connectionId, traceIdentifier, length);
    }

    /// <summary>Throws unless the application may use synchronous reads.</summary>
    public void ThrowIfSynchronousIONotAllowed()
    {
        if (!Response.AllowSynchronousIO)
            throw new InvalidOperationException("Synchronous operations are disallowed. Call ReadAsync or set AllowSynchronousIO to true instead.");
    }

    /// <summary>Reads what is there, or waits for it.</summary>
    public ValueTask<ReadResult> ReadBodyAsync(int generation, CancellationToken cancellationToken)
    {
        ValueTask<ReadResult> read;
        using (BodyLock.EnterLock())
            read = StartReading(generation) is { } body ? body.ReadAsync(cancellationToken) : new(EmptyBody);
        return OnReading(read);
    }

    /// <summary>Reads at least so much, or to the end.</summary>
    public ValueTask<ReadResult> ReadBodyAtLeastAsync(int generation, int minimumSize, CancellationToken cancellationToken)
    {
        ValueTask<ReadResult> read;
        using (BodyLock.EnterLock())
            read = StartReading(generation) is { } body ? body.ReadAtLeastAsync(minimumSize, cancellationToken) : new(EmptyBody);
        return OnReading(read);
    }

    /// <summary>Reads what is there.</summary>
    public bool TryReadBody(int generation, out ReadResult result)
    {
        using (BodyLock.EnterLock())
        {
            if (StartReading(generation) is { } body)
                return body.TryRead(out result);
        }

        result = EmptyBody;
        return true;
    }

    /// <summary>Says how far the result of the last read was used.</summary>
    public void AdvanceBody(int generation, SequencePosition consumed, SequencePosition examined)
    {
        using (BodyLock.EnterLock())
        {
            ThrowIfStale(generation);
            if (_isBodyReaderOver)
                throw new InvalidOperationException("No reading operation to complete.");
            if (_body is null)
                return;
            _body.AdvanceTo(consumed, examined);
        }

        Connection.OnBodyConsumed();
    }

    /// <summary>Lets the read that waits, or else the next one, return as cancelled.</summary>
    public void CancelPendingBodyRead(int generation)
    {
        using (BodyLock.EnterLock())
        {
            ThrowIfStale(generation);
            GetBody()?.CancelPendingRead();
        }
    }

    /// <summary>The application says that it will not read any more.</summary>
    public void CompleteBody(int generation, Exception? exception)
    {
        Action? log = null;
        RequestConnection connection;
        using (BodyLock.EnterLock())
        {
            ThrowIfStale(generation);
            if (_isBodyReaderOver)
                return;

            _isBodyReaderOver = true;
            GetBody()?.CompleteReader();
            connection = Connection;
            if (exception is not null)
                log = RecordApplicationError(exception);
        }

        log?.Invoke();
        connection.OnBodyConsumed();
    }

    /// <summary>Who waits for more has examined what is there: receiving goes on, whatever the window says.</summary>
    private ValueTask<ReadResult> OnReading(ValueTask<ReadResult> read)
    {
        if (!read.IsCompleted)
            Connection.OnBodyConsumed();
        return read;
    }

    private static ReadResult EmptyBody => new(ReadOnlySequence<byte>.Empty, isCanceled: false, isCompleted: true);

    private static bool IsMethodWithBody(string method)
        => !HttpMethods.IsGet(method) && !HttpMethods.IsHead(method) && !HttpMethods.IsDelete(method) && !HttpMethods.IsOptions(method)
            && !HttpMethods.IsTrace(method) && !HttpMethods.IsConnect(method);

    private RequestBody? StartReading(int generation)
    {
        ThrowIfStale(generation);
        if (_isBodyReaderOver)
            throw new InvalidOperationException("Reading is not allowed after the reader was completed.");

        var body = GetBody();
        if (body is null)
            return null;

        body.BeginRead(_maxBodySize);
        _hasStartedReading = true;
        return body;
    }

    /// <returns>The body, or <see langword="null"/> where there is none.</returns>
    private RequestBody? GetBody()
    {
        if (_body is not null)
            return _body;

        using (Connection.Output.EnterLock())
        {
            if (_body is null && !_isStdinOver && _head.ContentLength != 0)
            {
                _body = CreateBody();
                if (_bodyError is not null)
                    _body.Fail(_bodyError);
            }

            return _body;
        }
    }

    private RequestBody CreateBody()
    {
        var body = _spareBody ?? new RequestBody(Server.Buffers);
        _spareBody = null;
        body.Begin(_head.ContentLength);
        return body;
    }

    private void BeginBody()
    {
        // No front-end sends STDIN to an authorizer, and most not even its end.
        _isStdinOver = Role == FastCgiRole.Authorizer;
        _maxBodySize = Server.Options.Limits.MaxRequestBodySize;
        _isBodyReaderOver = false;
        _hasStartedReading = false;
        // Without the lock, because that of the connection is held: nobody has the new generation yet.
        if (_isStaleBodyUseSeen)
        {
            _bodyReader = null;
            _bodyStream = null;
        }

        _bodyReader?.Begin(_bodyGeneration);
        _bodyStream?.Begin(_bodyGeneration);
        Volatile.Write(ref _isBodyOpen, true);
    }

    /// <summary>The rest of the body will not come: reads fail. Under the lock of the connection.</summary>
    private void FailBody(Exception exception)
    {
        _bodyError = exception;
        _body?.Fail(exception);
        _data?.Fail(exception);
    }

    /// <summary>The application has returned: from now on it cannot read. With the lock of the response held.</summary>
    private void CloseBody()
    {
        if (!_isBodyOpen)
            return;

        _isBodyOpen = false;
        _bodyGeneration++;
        if (_body is { } body && !_isBodyReaderOver)
            body.CompleteReader();
        _isBodyReaderOver = true;
    }

    private void EndBody()
    {
        if (_body is { } body)
        {
            // A read that still waits comes back to its body whenever it likes; that body is not used again.
            var isReading = body.IsReading;
            body.Fail(new ObjectDisposedException(nameof(HttpRequest)));
            if (!isReading)
            {
                body.Reset();
                _spareBody = body;
            }
        }

        _body = null;
        _bodyError = null;
    }

    private void ThrowIfStale(int generation)
    {
        if (_isBodyOpen && generation == _bodyGeneration)
            return;

        _isStaleBodyUseSeen = true;
        throw new ObjectDisposedException(nameof(HttpRequest), "The request body cannot be used after the request has ended.");
    }
}
