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

    /// <summary>Queues and sends the end, unless the response is already complete.</summary>
    /// <exception cref="InvalidOperationException">The body is too short, or sending is impossible.</exception>
    public void Finish()
    {
        CompletedRequest ended;
        using (var scope = _request.EnterLock())
        {
            if (IsCompleted)
                return;

            ThrowIfTooShort(scope);
            ended = End(scope, ProtocolStatus.RequestComplete);
        }

        OnEnded(ended);
    }

    /// <summary>Ends the response so that the client sees that it is incomplete.</summary>
    public void Cut()
    {
        CompletedRequest ended;
        using (var scope = _request.EnterLock())
            ended = Output.Complete(scope, status: null);
        OnEnded(ended);
    }

    /// <summary>Replaces a response that has not started and ends it, so that no other thread can change it.</summary>
    /// <param name="body">An ASCII body, if any.</param>
    public bool TryRespondForApplication(
        int statusCode, string? body = null, ProtocolStatus status = ProtocolStatus.RequestComplete)
    {
        CompletedRequest ended;
        using (var scope = _request.EnterLock())
        {
            if (HasStarted)
                return false;

            Replace(scope, statusCode, body);
            ended = End(scope, status);
        }

        OnEnded(ended);
        return true;
    }

    /// <summary>Sets the status of a response that was aborted before it started, for logs and metrics.</summary>
    public void SetAbortedStatus() => _statusCode = StatusCodes.Status499ClientClosedRequest;

    // Under the lock, because another thread may have changed the length.
    private void ThrowIfTooShort(RequestScope scope)
    {
        var declared = _headers.In(scope).ContentLength;
        if (BytesWritten < declared && !_isHead && _statusCode != StatusCodes.Status304NotModified)
            throw new InvalidOperationException($"Response Content-Length mismatch: too few bytes written "
                + $"({BytesWritten} of {declared}).");
    }

    private void OnEnded(in CompletedRequest ended)
    {
        ended.Send();
        if (BytesWritten > 0 && _isHead)
            _request.Log.HeadBodyWritten(_request.Connection.Id, _request.TraceIdentifier, BytesWritten);
    }

    private CompletedRequest End(RequestScope scope, ProtocolStatus status)
    {
        if (!HasStarted)
        {
            // In the headers, so that the request log can read it later.
            ref var table = ref _headers.In(scope);
            if (BytesWritten == 0 && table.ContentLength is null && CanHaveContentLength)
                table.SetContentLength(0);
            Start(scope, writeLength: 0);
        }

        return Output.Complete(scope, status);
    }

    private void Replace(RequestScope scope, int statusCode, string? body)
    {
        _lazy?.OnStarting?.Clear();
        Output.In(scope).Clear();
        _headers.Restart(scope);
        _isBufferingDisabled = false;
        _isOffloaded = false;
        if (_lazy is not null)
            _lazy.ReasonPhrase = null;
        _statusCode = statusCode;
        BytesWritten = 0;
        ref var table = ref _headers.In(scope);
        if (statusCode == StatusCodes.Status405MethodNotAllowed)
            table.Set(Known.Allow, HttpMethods.Options);
        if (statusCode == StatusCodes.Status503ServiceUnavailable)
            table.Set(Known.RetryAfter, "1");
        if (body is null)
        {
            table.SetContentLength(0);
            return;
        }

        table.Set(Known.ContentType, "text/plain; charset=utf-8");
        table.SetContentLength(body.Length);
        if (!_isHead)
            Output.In(scope).Append(Encoding.ASCII.GetBytes(body));
    }
}
