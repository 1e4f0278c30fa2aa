namespace FastCgi.AspNetCore.Requests;

/// <content>The start, when status and headers become final: a flush, a write, a request, or the end.</content>
internal sealed partial class FastCgiResponse
{
    public async Task StartAsync(CancellationToken cancellationToken = default)
    {
        cancellationToken.ThrowIfCancellationRequested();
        if (HasOnStarting && !HasStarted)
            await FireOnStartingAsync();

        using var scope = _request.EnterLock();
        ThrowIfOver();
        if (!HasStarted)
            StartByApplication(scope, writeLength: 0);
    }

    /// <summary>The running OnStarting callbacks, which the application may not await.</summary>
    public Task? Starting => _lazy is { } lazy ? Volatile.Read(ref lazy.Starting) : null;

    /// <summary>Calls the OnStarting callbacks. If one throws, the response fails and the rest are skipped.</summary>
    public Task FireOnStartingAsync()
    {
        var calls = CallOnStartingAsync();
        if (calls.IsCompleted)
            return calls;

        using (_request.EnterLock())
            Volatile.Write(
                ref Lazy.Starting, Starting is { IsCompleted: false } earlier ? Task.WhenAll(earlier, calls) : calls);
        return calls;
    }

    private async Task CallOnStartingAsync()
    {
        while (TryPopOnStarting(out var callback))
        {
            try
            {
                await callback.Callback(callback.State);
            }
            catch (Exception exception)
            {
                ThrowIfOver();
                _request.ReportApplicationError(exception);
                using (_request.EnterLock())
                    _lazy?.OnStarting?.Clear();
                return;
            }
        }
    }

    private bool TryPopOnStarting(out (Func<object, Task> Callback, object State) callback)
    {
        using var scope = _request.EnterLock();
        ThrowIfOver();
        callback = HasOnStarting ? _lazy!.OnStarting!.Pop() : default;
        return callback.Callback is not null;
    }

    public void DisableBuffering() => _isBufferingDisabled = true;

    private void StartByApplication(RequestScope scope, int writeLength)
    {
        if (_request.ApplicationError is { } error)
            throw new ObjectDisposedException("The response has been aborted due to an unhandled application "
                + "exception.", error);

        Start(scope, writeLength);
    }

    private void Start(RequestScope scope, int writeLength)
    {
        if (_statusCode is < 200 or > 999)
            throw new InvalidOperationException($"A FastCGI response cannot have the status code {_statusCode}.");
        // Some web servers allow access for any success status, but this response is not a permission.
        if (IsAuthorizer && !_request.MaySendAuthorizerStatus(SentStatusCode))
            throw new InvalidOperationException(
                $"Code other than an authorizer endpoint returned status {SentStatusCode} for an Authorizer request, "
                    + "which could allow access. Use MapFastCgiAuthorizer.");

        ref var table = ref _headers.In(scope);
        CheckWrite(writeLength, table.ContentLength);
        CompleteHeaders(ref table);
        if (_headers.Encode(scope) is { } encodedFields)
            Lazy.EncodedFields = encodedFields;

        // Not earlier: if the response cannot start, nothing may be staged.
        BytesWritten += writeLength;
        _headers.SetReadOnly(scope, isReadOnly: true);
        Output.In(scope).EndLease();
        if (!CanWriteBody)
        {
            Output.In(scope).Clear();
            // nginx closes the connection as soon as it has the headers of the response to HEAD.
            _request.OnResponded();
        }

        HasStarted = true;
    }

    private void CompleteHeaders(ref HeaderTable headers)
    {
        DropZeroLengthWithoutBody(ref headers);
        // Otherwise, nginx buffers an event stream.
        var isEventStream = headers.Get(Known.ContentType).ToString()
            .StartsWith("text/event-stream", StringComparison.OrdinalIgnoreCase);
        if ((_isBufferingDisabled || isEventStream) && headers.Find("X-Accel-Buffering") < 0)
            headers.Set("X-Accel-Buffering", "no");
        // mod_deflate and mod_brotli would compress the response, and send their coding in addition.
        if (HasIdentityCoding(ref headers) && WebServer == WebServerKind.Apache)
            headers.Remove(Known.ContentEncoding);
        // HAProxy would send a second length over HTTP/2, which clients reject. A 304 needs none (RFC 9110, 8.6).
        if (_statusCode == StatusCodes.Status304NotModified && headers.ContentLength is not null
            && WebServer == WebServerKind.HaProxy)
            headers.Remove(Known.ContentLength);
    }

    /// <summary>Blazor and event streams set identity (RFC 9110, section 8.4.1) to prevent compression.</summary>
    private static bool HasIdentityCoding(ref HeaderTable headers)
        => headers.Get(Known.ContentEncoding) is { Count: > 0 } codings
            && codings.ToString().Split(',', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries)
                .All(static coding => coding.Equals("identity", StringComparison.OrdinalIgnoreCase));

    private WebServerKind WebServer => WebServerKinds.Of(_request.Parameters.GetVariable("SERVER_SOFTWARE"));

    /// <summary>Responses without a body must not declare a length other than 0, and a 204 none at all.</summary>
    private void DropZeroLengthWithoutBody(ref HeaderTable headers)
    {
        if (_statusCode is not (204 or 205) || headers.ContentLength is not { } contentLength)
            return;

        if (contentLength != 0)
            throw new InvalidOperationException(_statusCode == StatusCodes.Status204NoContent
                ? "Setting the header Content-Length is not allowed on responses with status code 204."
                : "Responses with status code 205 cannot have a non-zero Content-Length value.");

        if (_statusCode == StatusCodes.Status204NoContent)
            headers.Remove(Known.ContentLength);
    }
}
