using System.Buffers;
using System.IO.Pipelines;
using Microsoft.AspNetCore.Http;

namespace FastCgi.AspNetCore.Requests;

/// <summary>
/// What the web server sends of a request after its params: STDIN, which is the request body, and DATA in the role Filter. The
/// connection puts it in with its own lock; what the application calls takes the lock of the request, and that of the connection inside it.
/// </summary>
internal sealed partial class RequestInput
{
    private const long UnknownLength = -1;

    private readonly FastCgiRequest _request;
    private readonly long _declaredLength;
    private readonly RequestBody? _data;
    private RequestBody? _body;
    private RequestBodyReader? _reader;
    private RequestBodyStream? _stream;
    private Exception? _error;
    private long _maxBodySize;
    private bool _isStdinOver;
    private bool _hasStartedReading;

    /// <param name="request">The request.</param>
    /// <param name="declaredLength">CONTENT_LENGTH, or <see langword="null"/> if only the end of STDIN tells.</param>
    /// <param name="maxBodySize">The most bytes of the body that may be read, unless the application changes it.</param>
    /// <param name="dataLength">FCGI_DATA_LENGTH, if it is known.</param>
    public RequestInput(FastCgiRequest request, long? declaredLength, long? maxBodySize, long? dataLength)
    {
        _request = request;
        _declaredLength = declaredLength ?? UnknownLength;
        _maxBodySize = maxBodySize ?? UnknownLength;
        // No web server sends STDIN to an authorizer, and most not even its end.
        _isStdinOver = request.Role == FastCgiRole.Authorizer;
        if (request.Role == FastCgiRole.Filter)
            _data = CreateBody(dataLength);
    }

    /// <summary>Whether the end of the streams has come, or none is to come.</summary>
    public bool IsOver => _isStdinOver && _data is null or { IsInputOver: true };

    public long UnreadLength => Math.Max(Body?.UnreadLength ?? 0, _data?.UnreadLength ?? 0);

    /// <summary>The bytes of the body that have come.</summary>
    public long ReceivedLength => Body?.ReceivedLength ?? 0;

    /// <summary>Whether the application waits for more of the body.</summary>
    public bool IsReading => Body is { IsReading: true };

    /// <summary>Whether there is a body, as far as is known; <see langword="null"/> while nothing of STDIN has come.</summary>
    public bool? HasBody
    {
        get
        {
            if (_declaredLength != UnknownLength)
                return _declaredLength > 0;

            if (_isStdinOver)
                return Body is { ReceivedLength: > 0 };

            return Body is null ? null : true;
        }
    }

    /// <summary>Whether the application has read from the body.</summary>
    public bool HasStartedReading => _hasStartedReading;

    /// <summary>The most bytes of the body that may be read.</summary>
    public long? MaxBodySize
    {
        get => _maxBodySize == UnknownLength ? null : _maxBodySize;
        set
        {
            if (_hasStartedReading)
                throw new InvalidOperationException("The maximum request body size cannot be modified after the app has already started reading from the request body.");
            if (value is not null)
                ArgumentOutOfRangeException.ThrowIfNegative(value.Value);
            _maxBodySize = value ?? UnknownLength;
        }
    }

    /// <summary>The body, to read from.</summary>
    public RequestBodyReader Reader => _reader ?? Interlocked.CompareExchange(ref _reader, new RequestBodyReader(this), null) ?? _reader;

    /// <inheritdoc cref="Reader"/>
    public RequestBodyStream Stream => _stream ?? Interlocked.CompareExchange(ref _stream, new RequestBodyStream(this), null) ?? _stream;

    // The application's side looks without the lock of the connection.
    private RequestBody? Body => Volatile.Read(ref _body);

    private RequestConnection Connection => _request.Connection;

    private static ReadResult EmptyBody => new(ReadOnlySequence<byte>.Empty, isCanceled: false, isCompleted: true);

    public void AppendStdin(ConnectionScope connection, ReadOnlySpan<byte> content)
    {
        if (!_isStdinOver && _declaredLength != 0)
            GetOrCreateBody(connection).Append(connection, content);
    }

    public void EndStdin(ConnectionScope connection)
    {
        if (_isStdinOver)
            return;

        _isStdinOver = true;
        _body?.EndInput(connection);
    }

    public void AppendData(ConnectionScope connection, ReadOnlySpan<byte> content) => _data?.Append(connection, content);

    public void EndData(ConnectionScope connection) => _data?.EndInput(connection);

    /// <summary>The response is complete: the web server sends no more, so that reads of a body that is not whole fail instead of waiting.</summary>
    public void End(ConnectionScope connection)
    {
        EndStdin(connection);
        EndData(connection);
    }

    /// <summary>The rest will not come: reads fail.</summary>
    public void Fail(ConnectionScope connection, Exception exception)
    {
        _error = exception;
        _body?.CompleteInput(connection, exception);
        _data?.CompleteInput(connection, exception);
    }

    /// <summary>Nothing more will be read: the application has returned, or will not be called. Reads fail from now on, and memory is returned.</summary>
    public void Close(ConnectionScope connection)
    {
        Fail(connection, new ObjectDisposedException(nameof(HttpRequest)));
        _body?.CompleteReader();
        _data?.CompleteReader();
    }

    public bool IsUsed => Body is not null || _data is not null;

    public void ThrowIfSynchronousIONotAllowed()
    {
        if (!_request.Response.AllowSynchronousIO)
            throw new InvalidOperationException("Synchronous operations are disallowed. Call ReadAsync or set AllowSynchronousIO to true instead. It is FastCgi:AllowSynchronousIO in the configuration, and options.AllowSynchronousIO in UseFastCgi.");
    }

    public ValueTask<ReadResult> ReadAsync(CancellationToken cancellationToken)
    {
        ValueTask<ReadResult> read;
        using (var scope = _request.EnterLock())
            read = StartReading(scope) is { } body ? Time(body, body.ReadAsync(cancellationToken)) : new(EmptyBody);

        return Examined(read);
    }

    public ValueTask<ReadResult> ReadAtLeastAsync(int minimumSize, CancellationToken cancellationToken)
    {
        ValueTask<ReadResult> read;
        using (var scope = _request.EnterLock())
            read = StartReading(scope) is { } body ? Time(body, body.ReadAtLeastAsync(minimumSize, cancellationToken)) : new(EmptyBody);

        return Examined(read);
    }

    public bool TryRead(out ReadResult result)
    {
        using (var scope = _request.EnterLock())
        {
            if (StartReading(scope) is { } body)
                return body.TryRead(out result);
        }

        result = EmptyBody;
        return true;
    }

    public void AdvanceTo(SequencePosition consumed, SequencePosition examined)
    {
        using (_request.EnterLock())
        {
            ThrowIfOver();
            if (Body is not { } body)
                return;
            if (body.IsReaderOver)
                throw new InvalidOperationException("No reading operation to complete.");
            body.AdvanceTo(consumed, examined);
        }

        OnExamined();
    }

    /// <summary>Reads of the file that a web server gives to a filter.</summary>
    public ValueTask<ReadResult> ReadDataAsync(CancellationToken cancellationToken)
    {
        ValueTask<ReadResult> read;
        using (_request.EnterLock())
        {
            ThrowIfOver();
            _data!.BeginRead(maxLength: null);
            read = _data.ReadAsync(cancellationToken);
        }

        return Examined(read);
    }

    /// <summary>Says how far the result of the last read of that file was used.</summary>
    public void AdvanceData(SequencePosition consumed)
    {
        using (_request.EnterLock())
        {
            ThrowIfOver();
            _data!.AdvanceTo(consumed, consumed);
        }

        OnExamined();
    }

    /// <summary>Lets the read that waits, or else the next one, return as cancelled.</summary>
    public void CancelPendingRead()
    {
        using (_request.EnterLock())
        {
            ThrowIfOver();
            GetBody()?.CancelPendingRead();
        }
    }

    /// <summary>The application says that it will not read any more.</summary>
    public void CompleteReader(Exception? exception)
    {
        Action? log = null;
        using (var scope = _request.EnterLock())
        {
            ThrowIfOver();
            if (Body is { IsReaderOver: true })
                return;

            using (var connection = Connection.EnterLock())
                GetOrCreateBody(connection).CompleteReader();
            if (exception is not null)
                log = _request.RecordApplicationError(scope, exception);
        }

        log?.Invoke();
        OnExamined();
    }

    /// <summary>The application has looked at what has come: receiving may go on.</summary>
    public void OnExamined() => Connection.ResumeReceiving();

    /// <summary>A reader that waits for more has examined what is there: receiving goes on.</summary>
    private ValueTask<ReadResult> Examined(ValueTask<ReadResult> read)
    {
        if (!read.IsCompleted)
            OnExamined();
        return read;
    }

    private RequestBody? StartReading(RequestScope scope)
    {
        ThrowIfOver();
        if (Body is { IsReaderOver: true })
            throw new InvalidOperationException("Reading is not allowed after the reader was completed.");

        var body = GetBody();
        if (body is null)
            return null;

        body.BeginRead(MaxBodySize);
        _hasStartedReading = true;
        return body;
    }

    /// <returns>The body, or <see langword="null"/> where there is none.</returns>
    private RequestBody? GetBody()
    {
        if (Body is { } body)
            return body;

        using (var connection = Connection.EnterLock())
            return _declaredLength == 0 || (_declaredLength == UnknownLength && _isStdinOver) ? _body : GetOrCreateBody(connection);
    }

    private RequestBody GetOrCreateBody(ConnectionScope connection)
    {
        if (_body is { } there)
            return there;

        var body = CreateBody(_declaredLength == UnknownLength ? null : _declaredLength);
        if (_error is not null || _declaredLength == 0)
            body.CompleteInput(connection, _error);
        else if (_isStdinOver)
            body.EndInput(connection);
        Volatile.Write(ref _body, body);
        return body;
    }

    private RequestBody CreateBody(long? length) => new(new BodyMemory(Connection.Output.Pool), length);

    private void ThrowIfOver()
    {
        if (_request.IsOver)
            throw new ObjectDisposedException(nameof(HttpRequest), "The request body cannot be used after the request has ended.");
    }
}
