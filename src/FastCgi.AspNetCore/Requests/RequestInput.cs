using System.Buffers;
using System.IO.Pipelines;
using FastCgi.AspNetCore.Cgi;
using FastCgi.AspNetCore.Diagnostics;
using FastCgi.AspNetCore.Responses;
using Microsoft.AspNetCore.Http;

namespace FastCgi.AspNetCore.Requests;

/// <summary>
/// What the web server sends of a request behind its params: STDIN, which is the request body, and DATA in the role Filter. The
/// connection puts it in with its own lock held. What the application calls for the body has the generation it was given out for and
/// takes the lock of the response, and that of the connection inside it; the stream of DATA is made for one request and takes none.
/// The object serves one request after another.
/// </summary>
internal sealed partial class RequestInput(FastCgiRequest request)
{
    private const long UnknownLength = -1;

    // Kept for the next request; this one's own only if there is one.
    private RequestBody? _pooledBody;
    private FilterData? _data;
    private RequestBodyReader? _reader;
    private RequestBodyStream? _stream;
    private Exception? _error;
    private long _maxBodySize;
    private long _declaredLength;
    private int _generation;
    private bool _hasBody;
    private bool _isOpen;
    private bool _isStdinOver;
    private bool _isReaderOver;
    private bool _hasStartedReading;

    /// <summary>Whether the end of the streams has come, or none is to come.</summary>
    public bool IsOver => _isStdinOver && _data is null or { IsInputOver: true };

    /// <summary>The bytes that the application has not examined, while there are more to come. With the lock of the connection held.</summary>
    public long UnreadLength => Math.Max(Body?.UnreadLength ?? 0, _data?.UnreadLength ?? 0);

    /// <summary>The bytes of the body that have come. With the lock of the connection held.</summary>
    public long ReceivedLength => Body?.ReceivedLength ?? 0;

    /// <summary>Whether the application waits for more of the body. With the lock of the connection held.</summary>
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
    public RequestBodyReader Reader
    {
        get
        {
            // Without the lock: the generation in it decides what it may do. The generation first, because it changes last.
            var generation = Volatile.Read(ref _generation);
            if (!Volatile.Read(ref _isOpen))
                return new RequestBodyReader(this, generation - 1);

            return _reader is { } reader && reader.Generation == generation ? reader : _reader = new RequestBodyReader(this, generation);
        }
    }

    /// <inheritdoc cref="Reader"/>
    public RequestBodyStream Stream
    {
        get
        {
            var generation = Volatile.Read(ref _generation);
            if (!Volatile.Read(ref _isOpen))
                return RequestBodyStream.Open(this, generation - 1);

            return _stream is { } stream && stream.Generation == generation ? stream : _stream = RequestBodyStream.Open(this, generation);
        }
    }

    /// <summary>The file that a web server gives to a filter.</summary>
    public FilterData? Data => _data;

    // The side of the application looks without the lock of the connection: a thread that sees the flag sees a body that has begun.
    private RequestBody? Body => Volatile.Read(ref _hasBody) ? _pooledBody : null;

    // What is used behind the lock, such as the connection, is taken with it held: the object may serve another request then.
    // One lock for all that the application does to a request and its response: one more object would be one for each that waits.
    private ResponseOutput ResponseLock => request.Response.Output;

    private static ReadResult EmptyBody => new(ReadOnlySequence<byte>.Empty, isCanceled: false, isCompleted: true);

    /// <summary>Begins with the input of another request. With the lock of the connection held.</summary>
    /// <param name="declaredLength">CONTENT_LENGTH, or <see langword="null"/> if only the end of STDIN tells.</param>
    /// <param name="maxBodySize">The most bytes of the body that may be read, unless the application changes it.</param>
    public void Begin(long? declaredLength, long? maxBodySize)
    {
        _declaredLength = declaredLength ?? UnknownLength;
        _maxBodySize = maxBodySize ?? UnknownLength;
        // No web server sends STDIN to an authorizer, and most not even its end.
        _isStdinOver = request.Role == FastCgiRole.Authorizer;
        _isReaderOver = false;
        _hasStartedReading = false;
        // Without the lock of the response: nobody has the new generation yet.
        Volatile.Write(ref _isOpen, true);
    }

    /// <summary>Begins with the file of a filter, too. With the lock of the connection held.</summary>
    /// <param name="length">FCGI_DATA_LENGTH, if it is known.</param>
    public void BeginData(long? length)
    {
        var body = new RequestBody(request.Connection.Output.Pool);
        body.Begin(length);
        _data = FilterData.Open(this, body);
    }

    /// <summary>Takes content of STDIN. With the lock of the connection held.</summary>
    public void AppendStdin(ReadOnlySpan<byte> content)
    {
        if (!_isStdinOver && _declaredLength != 0)
            (Body ?? CreateBody()).Append(content);
    }

    /// <summary>STDIN has ended. With the lock of the connection held.</summary>
    public void EndStdin()
    {
        if (_isStdinOver)
            return;

        _isStdinOver = true;
        if (!_hasBody && _declaredLength > 0)
            CreateBody();
        Body?.EndInput();
    }

    /// <summary>Takes content of DATA. With the lock of the connection held.</summary>
    public void AppendData(ReadOnlySpan<byte> content) => _data?.Append(content);

    /// <summary>DATA has ended. With the lock of the connection held.</summary>
    public void EndData() => _data?.EndInput();

    /// <summary>The rest will not come: reads fail. With the lock of the connection held.</summary>
    public void Fail(Exception exception)
    {
        _error = exception;
        Body?.Fail(exception);
        _data?.Fail(exception);
    }

    /// <summary>Nobody will read: what has come is released. Behind <see cref="Fail"/>, with the lock of the connection held.</summary>
    public void Discard()
    {
        Body?.CompleteReader();
        _data?.End();
    }

    /// <summary>Throws unless the application may use synchronous reads.</summary>
    public void ThrowIfSynchronousIONotAllowed()
    {
        if (!request.Response.AllowSynchronousIO)
            throw new InvalidOperationException("Synchronous operations are disallowed. Call ReadAsync or set AllowSynchronousIO to true instead. It is FastCgi:AllowSynchronousIO in the configuration, and options.AllowSynchronousIO in UseFastCgi.");
    }

    /// <summary>Reads what is there, or waits for it.</summary>
    public ValueTask<ReadResult> ReadAsync(int generation, CancellationToken cancellationToken)
    {
        ValueTask<ReadResult> read;
        RequestConnection connection;
        using (ResponseLock.EnterLock())
        {
            read = StartReading(generation) is { } body ? Time(body, body.ReadAsync(cancellationToken)) : new(EmptyBody);
            connection = request.Connection;
        }

        // Who waits for more has examined what is there: receiving goes on.
        if (!read.IsCompleted)
            connection.OnBodyConsumed();
        return read;
    }

    /// <summary>Reads at least so much, or to the end.</summary>
    public ValueTask<ReadResult> ReadAtLeastAsync(int generation, int minimumSize, CancellationToken cancellationToken)
    {
        ValueTask<ReadResult> read;
        RequestConnection connection;
        using (ResponseLock.EnterLock())
        {
            read = StartReading(generation) is { } body ? Time(body, body.ReadAtLeastAsync(minimumSize, cancellationToken)) : new(EmptyBody);
            connection = request.Connection;
        }

        // Who waits for more has examined what is there: receiving goes on.
        if (!read.IsCompleted)
            connection.OnBodyConsumed();
        return read;
    }

    /// <summary>Reads what is there.</summary>
    public bool TryRead(int generation, out ReadResult result)
    {
        using (ResponseLock.EnterLock())
        {
            if (StartReading(generation) is { } body)
                return body.TryRead(out result);
        }

        result = EmptyBody;
        return true;
    }

    /// <summary>Says how far the result of the last read was used.</summary>
    public void AdvanceTo(int generation, SequencePosition consumed, SequencePosition examined)
    {
        RequestConnection connection;
        using (ResponseLock.EnterLock())
        {
            ThrowIfStale(generation);
            if (_isReaderOver)
                throw new InvalidOperationException("No reading operation to complete.");
            if (Body is not { } body)
                return;
            body.AdvanceTo(consumed, examined);
            connection = request.Connection;
        }

        connection.OnBodyConsumed();
    }

    /// <summary>Has the memory of the last result stay what it is, though the request may end meanwhile.</summary>
    /// <returns>The body that is held, if there is one.</returns>
    public RequestBody? Hold(int generation)
    {
        using (ResponseLock.EnterLock())
        {
            ThrowIfStale(generation);
            if (Body is { } body && !body.TryHold())
                throw ReaderCompleted();
            return Body;
        }
    }

    /// <summary>Lets the read that waits, or else the next one, return as cancelled.</summary>
    public void CancelPendingRead(int generation)
    {
        using (ResponseLock.EnterLock())
        {
            ThrowIfStale(generation);
            GetBody()?.CancelPendingRead();
        }
    }

    /// <summary>The application says that it will not read any more.</summary>
    public void CompleteReader(int generation, Exception? exception)
    {
        Action? log = null;
        RequestConnection connection;
        using (ResponseLock.EnterLock())
        {
            ThrowIfStale(generation);
            if (_isReaderOver)
                return;

            _isReaderOver = true;
            GetBody()?.CompleteReader();
            connection = request.Connection;
            if (exception is not null)
                log = request.RecordApplicationError(exception);
        }

        log?.Invoke();
        connection.OnBodyConsumed();
    }

    /// <summary>The application has looked at what has come: receiving may go on. Without a lock.</summary>
    public void OnExamined() => request.Connection.OnBodyConsumed();

    /// <summary>The application has returned: from now on it cannot read. With the lock of the response held.</summary>
    public void Close()
    {
        if (!_isOpen)
            return;

        Volatile.Write(ref _isOpen, false);
        Volatile.Write(ref _generation, _generation + 1);
        // New ones for each request: nobody can tell an application that kept an old one from the one that it was given to anew.
        _reader = null;
        _stream = null;
        if (Body is { } body && !_isReaderOver)
            body.CompleteReader();
        _isReaderOver = true;
    }

    /// <summary>The request is over, and closed: nobody else uses this object.</summary>
    public void End()
    {
        if (Body is { } body)
        {
            _hasBody = false;
            // A read that still waits, or a copy, comes back to its body whenever it likes; that body is not used again.
            if (body.IsReading || body.IsHeld)
            {
                _pooledBody = null;
                body.Fail(new ObjectDisposedException(nameof(HttpRequest)));
            }
            else
            {
                body.Reset();
            }
        }

        _data?.End();
        _data = null;
        _error = null;
    }

    private RequestBody? StartReading(int generation)
    {
        ThrowIfStale(generation);
        if (_isReaderOver)
            throw ReaderCompleted();

        var body = GetBody();
        if (body is null)
            return null;

        body.BeginRead(MaxBodySize);
        _hasStartedReading = true;
        return body;
    }

    private static InvalidOperationException ReaderCompleted() => new("Reading is not allowed after the reader was completed.");

    /// <returns>The body, or <see langword="null"/> where there is none.</returns>
    private RequestBody? GetBody()
    {
        if (Body is { } body)
            return body;

        using (request.Connection.Output.EnterLock())
        {
            if (!_hasBody && !_isStdinOver && _declaredLength != 0)
            {
                body = CreateBody();
                if (_error is not null)
                    body.Fail(_error);
            }

            return Body;
        }
    }

    private RequestBody CreateBody()
    {
        _pooledBody ??= new RequestBody(request.Connection.Output.Pool);
        _pooledBody.Begin(_declaredLength == UnknownLength ? null : _declaredLength);
        Volatile.Write(ref _hasBody, true);
        return _pooledBody;
    }

    private void ThrowIfStale(int generation)
    {
        if (_isOpen && generation == _generation)
            return;

        throw new ObjectDisposedException(nameof(HttpRequest), "The request body cannot be used after the request has ended.");
    }
}
