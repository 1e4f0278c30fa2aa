namespace FastCgi.AspNetCore.Requests;

/// <content>The end of the response: the application's, or an error of the server.</content>
internal sealed partial class FastCgiResponse
{
    public Task CompleteAsync() => CompleteAsync(exception: null).AsTask();

    public override void Complete(Exception? exception = null)
    {
        var completion = CompleteAsync(exception);
        if (completion.IsCompleted)
            completion.GetAwaiter().GetResult();
        else
            _ = completion.AsTask();
    }

    public override async ValueTask CompleteAsync(Exception? exception = null)
    {
        ThrowIfOver();
        if (IsCompleted)
            return;

        if (exception is not null)
        {
            _request.ReportApplicationError(
                new ConnectionAbortedException("The BodyPipe was completed with an exception.", exception));
            if (HasStarted)
                _request.Abort();
        }
        else if (!HasStarted && HasOnStarting)
        {
            await FireOnStartingAsync();
        }

        // A response that has started and failed cannot be completed: the end of the request cuts it.
        if (_request.ApplicationError is null)
            Finish();
        else if (!TryRespondForApplication(StatusCodes.Status500InternalServerError))
            return;

        // The application may continue, but receives no more of the body.
        using var scope = _request.Connection.EnterLock();
        _request.EndStdin(scope);
    }

    /// <summary>Whether the body has its declared length, although the rest may not be flushed.</summary>
    public bool IsWritten
    {
        get
        {
            using var scope = _request.EnterLock();
            ref var state = ref In(scope);
            return HasStarted && state.BytesWritten == state.DeclaredLength;
        }
    }

    /// <summary>Queues and sends the end, unless the response is already complete.</summary>
    /// <exception cref="InvalidOperationException">The body is too short, or sending is impossible.</exception>
    public void Finish()
    {
        if (!IsCompleted)
            End(ProtocolStatus.RequestComplete, isReplaced: false, body: null);
    }

    /// <summary>Ends the response so that the client sees that it is incomplete.</summary>
    public void Cut()
    {
        BufferBlock? output;
        bool isReset;
        using (var scope = _request.EnterLock())
        {
            output = End(scope, status: null);
            isReset = scope.State.Lifetime.IsOver;
        }

        _request.Connection.Output.SendCollected(output);
        if (isReset)
            _request.Connection.CloseTransport();
    }

    /// <summary>Replaces a response that has not started and ends it.</summary>
    /// <returns>Whether it has not started. If not, another thread may have started it meanwhile.</returns>
    public bool TryRespondForApplication(
        int statusCode, string? body = null, ProtocolStatus status = ProtocolStatus.RequestComplete)
    {
        if (HasStarted)
            return false;

        Replace(statusCode, body);
        return End(status, isReplaced: true, body);
    }

    /// <summary>Sets the status of a response that was aborted before it started, for logs and metrics.</summary>
    public void SetAbortedStatus() => _statusCode = StatusCodes.Status499ClientClosedRequest;

    // Before status and headers are checked, as in Kestrel.
    private void ThrowIfTooShort()
    {
        using var scope = _request.EnterLock();
        ThrowIfTooShort(ref In(scope), _headers.Table.ContentLength);
    }

    private void ThrowIfTooShort(ref ResponseStaging state, long? declared)
    {
        if (state.BytesWritten < declared && !_isHead && _statusCode != StatusCodes.Status304NotModified)
            throw new InvalidOperationException($"Response Content-Length mismatch: too few bytes written "
                + $"({state.BytesWritten} of {declared}).");
    }

    /// <summary>Starts the response if necessary, and ends it, in one step under the lock.</summary>
    /// <param name="isReplaced">Whether it replaces what the application has written.</param>
    /// <returns>Whether the response is over. If not, another thread has started the one to replace.</returns>
    private bool End(ProtocolStatus status, bool isReplaced, string? body)
    {
        if (!isReplaced && !HasStarted && _headers.Table.ContentLength > 0)
            ThrowIfTooShort();
        EncodedHead? head = HasStarted ? null : EncodeHead(isReplaced ? body?.Length ?? 0 : null);
        BufferBlock? output;
        long unsentLength;
        try
        {
            using var scope = _request.EnterLock();
            if (isReplaced && HasStarted)
                return false;
            if (IsCompleted)
                return true;

            ref var state = ref In(scope);
            if (isReplaced)
            {
                state.Clear();
                state.BytesWritten = 0;
                state.CanWriteBody = true;
                Start(scope, head!.Value, writeLength: 0);
                if (body is not null && state.CanWriteBody)
                    state.Append(Encoding.ASCII.GetBytes(body));
            }
            else
            {
                ThrowIfTooShort(ref state, HasStarted ? state.DeclaredLength : head!.Value.ContentLength);
                StartAtEnd(scope, head);
            }

            output = End(scope, status);
            unsentLength = _isHead ? state.BytesWritten : 0;
        }
        finally
        {
            EndStart();
        }

        _request.Connection.Output.SendCollected(output);
        if (unsentLength > 0)
            _request.Log.HeadBodyWritten(_request.Connection.Id, _request.TraceIdentifier, unsentLength);
        return true;
    }

    private void StartAtEnd(ConnectionScope scope, in EncodedHead? head)
    {
        if (HasStarted)
            return;

        Start(scope, head!.Value, writeLength: 0, isEnd: true);
        if (In(scope).BytesWritten > 0 || head is { LengthPosition: ResponseStaging.NoPosition })
            return;

        In(scope).DeclaredLength = 0;
        // In the headers, so that the request log can read it later.
        _headers.Table.SetContentLength(0);
    }

    private void Replace(int statusCode, string? body)
    {
        ClearOnStarting();
        _headers.Restart();
        _isBufferingDisabled = false;
        _isOffloaded = false;
        _reasonPhrase = null;
        _statusCode = statusCode;
        ref var headers = ref _headers.Table;
        if (statusCode == StatusCodes.Status405MethodNotAllowed)
            headers.Set(Known.Allow, HttpMethods.Options);
        if (statusCode == StatusCodes.Status503ServiceUnavailable)
            headers.Set(Known.RetryAfter, "1");
        if (body is not null)
            headers.Set(Known.ContentType, "text/plain; charset=utf-8");
        headers.SetContentLength(body?.Length ?? 0);
    }
}
