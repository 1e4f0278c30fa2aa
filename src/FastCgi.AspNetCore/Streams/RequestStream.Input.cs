namespace FastCgi.AspNetCore.Streams;

/// <content>STDIN, which is the request body. It is created when the first byte arrives or is read.</content>
internal abstract partial class RequestStream
{
    private const long UnknownLength = -1;

    private RequestBody? _body;
    private long _declaredLength = UnknownLength;

    public bool IsInputOver { get; private set; }
    public bool HasDeclaredLength => _declaredLength != UnknownLength;

    /// <summary>The bytes of the body that the application has not examined, while more may arrive.</summary>
    public long UnreadBodyLength => Body?.UnreadLength ?? 0;
    public long ReceivedBodyLength => Body?.ReceivedLength ?? 0;

    /// <summary>The body, if it exists. The application reads it without the lock of the connection.</summary>
    public RequestBody? Body => Volatile.Read(ref _body);

    /// <summary>Whether the web server sends a body; <see langword="null"/> while that is unknown.</summary>
    public bool? SendsBody
    {
        get
        {
            if (HasDeclaredLength)
                return _declaredLength > 0;
            if (IsInputOver)
                return ReceivedBodyLength > 0;

            return Body is not null ? true : null;
        }
    }

    public void AppendStdin(ConnectionScope scope, ReadOnlySpan<byte> content)
    {
        if (!IsInputOver && _declaredLength != 0)
            GetOrCreateBody(scope).Append(content);
    }

    /// <summary>Makes reads of an incomplete body fail instead of waiting.</summary>
    public void EndStdin(ConnectionScope scope)
    {
        if (IsInputOver)
            return;

        IsInputOver = true;
        _body?.EndInput();
    }

    /// <summary>Gets the body for a reader; <see langword="null"/> if the request has none.</summary>
    public RequestBody? GetBody(ConnectionScope scope)
    {
        var isEmpty = _declaredLength == 0 || (!HasDeclaredLength && IsInputOver);
        return isEmpty ? _body : GetOrCreateBody(scope);
    }

    /// <summary>The exception that reads throw, if the request is aborted or its body is refused.</summary>
    public Exception? GetInputError(ConnectionScope scope) => In(scope).InputError;

    /// <param name="rate">The rate that the body missed, if that is the reason.</param>
    public void RefuseBody(ConnectionScope scope, RequestRejection reason, BodyRate rate, ref ReadyRequests ready)
    {
        FailInput(scope, OnBodyRefused(reason, rate, out var report));
        ready.Report(report);
    }

    /// <summary>Fails the body if it arrives too slowly. Called every second.</summary>
    /// <param name="isPaused">Whether receiving is paused, which is not the client's fault.</param>
    public void FailIfSlow(ConnectionScope scope, long now, bool isPaused, ref ReadyRequests ready)
    {
        if (Body?.FindRateMissed(connection.Context.Time, now, isPaused) is { } rate)
            RefuseBody(scope, RequestRejection.RequestBodyTimeout, rate, ref ready);
    }

    /// <param name="declaredLength">CONTENT_LENGTH, or <see langword="null"/> if the end of STDIN decides.</param>
    protected void BeginInput(long? declaredLength)
    {
        _declaredLength = declaredLength ?? UnknownLength;
        // Web servers send no STDIN to an authorizer, and most do not even end it.
        IsInputOver = Role == FastCgiRole.Authorizer;
    }

    private void FailInput(ConnectionScope scope, Exception error)
    {
        In(scope).InputError = error;
        _body?.CompleteInput(error);
    }

    private void CloseInput(ConnectionScope scope, Exception error)
    {
        FailInput(scope, error);
        _body?.CompleteReader();
    }

    private RequestBody GetOrCreateBody(ConnectionScope scope)
    {
        if (_body is { } there)
            return there;

        var context = connection.Context;
        long? declaredLength = HasDeclaredLength ? _declaredLength : null;
        var body = new RequestBody(new BodyMemory(context.Buffers), declaredLength, context.CreateBodyException);
        var error = In(scope).InputError;
        if (error is not null || _declaredLength == 0)
            body.CompleteInput(error);
        else if (IsInputOver)
            body.EndInput();
        Volatile.Write(ref _body, body);
        return body;
    }
}
