namespace FastCgi.AspNetCore.Requests;

/// <content>The start, when status and headers become final: a flush, a write, a request, or the end.</content>
internal sealed partial class FastCgiResponse
{
    [ThreadStatic]
    private static byte[]? t_head;

    private Task? _starting;

    public async Task StartAsync(CancellationToken cancellationToken = default)
    {
        cancellationToken.ThrowIfCancellationRequested();
        if (HasOnStarting && !HasStarted)
            await FireOnStartingAsync();

        ThrowIfOver();
        if (HasStarted)
            return;

        var head = EncodeHeadForApplication();
        try
        {
            using var scope = _request.EnterLock();
            ThrowIfOver();
            Start(scope, head, writeLength: 0);
        }
        finally
        {
            EndStart();
        }
    }

    /// <summary>The running OnStarting callbacks, which the application may not await.</summary>
    public Task? Starting => Volatile.Read(ref _starting);

    /// <summary>Calls the OnStarting callbacks until one throws. The next use calls the rest.</summary>
    public Task FireOnStartingAsync()
    {
        var calls = CallOnStartingAsync();
        if (calls.IsCompleted)
            return calls;

        using (_request.EnterLock())
            Volatile.Write(
                ref _starting, Starting is { IsCompleted: false } earlier ? Task.WhenAll(earlier, calls) : calls);
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
                return;
            }
        }
    }

    private void ClearOnStarting()
    {
        if (!HasOnStarting)
            return;

        using var scope = _request.EnterLock();
        _onStarting!.Clear();
    }

    private bool TryPopOnStarting(out (Func<object, Task> Callback, object State) callback)
    {
        using var scope = _request.EnterLock();
        ThrowIfOver();
        callback = HasOnStarting ? _onStarting!.Pop() : default;
        return callback.Callback is not null;
    }

    public void DisableBuffering() => _isBufferingDisabled = true;

    private EncodedHead EncodeHeadForApplication()
    {
        if (_request.ApplicationError is { } error)
            throw new ObjectDisposedException("The response has been aborted due to an unhandled application "
                + "exception.", error);

        return EncodeHead();
    }

    /// <summary>
    /// Encodes status and headers without the lock, because the application may choose encodings. Until
    /// <see cref="EndStart"/>, they cannot be changed.
    /// </summary>
    /// <param name="replacedLength">The length of a response of the server: the application cannot change it.</param>
    private EncodedHead EncodeHead(long? replacedLength = null)
    {
        Invariants.RequireNoLock("An encoding");
        // Read once, like the length: what is sent, and what is checked later, must be the same.
        var statusCode = _statusCode;
        var sentStatusCode = _isOffloaded ? StatusCodes.Status200OK : statusCode;
        if (statusCode is < 200 or > 999)
            throw new InvalidOperationException($"A FastCGI response cannot have the status code {statusCode}.");
        // Some web servers allow access for any success status, but this response is not a permission.
        if (IsAuthorizer && !_request.MaySendAuthorizerStatus(sentStatusCode))
            throw new InvalidOperationException(
                $"Code other than an authorizer endpoint returned status {sentStatusCode} for an Authorizer request, "
                    + "which could allow access. Use MapFastCgiAuthorizer.");

        _headers.SetReadOnly(isReadOnly: true);
        try
        {
            ref var headers = ref _headers.Table;
            CompleteHeaders(ref headers, statusCode);
            var contentLength = replacedLength ?? headers.ContentLength;
            var encodedFields = _headers.Encode();
            // Once, because another thread may add more.
            var fields = headers.Entries;
            var maxLength = CgiResponseWriter.GetMaxLength(fields, ReasonPhrase, encodedFields);
            var bytes = maxLength <= BufferPool.SmallBlockSize
                ? t_head ??= new byte[BufferPool.SmallBlockSize]
                : new byte[maxLength];
            var length = CgiResponseWriter.Write(
                bytes, sentStatusCode, ReasonPhrase, fields, encodedFields, contentLength,
                    isStatusFirst: IsAuthorizer, out var lengthPosition);
            var canHaveLength = !_isHead && statusCode is not (204 or 304);
            return new EncodedHead(
                bytes.AsMemory(0, length),
                contentLength,
                canHaveLength && contentLength is null ? lengthPosition : ResponseStaging.NoPosition,
                CanWriteBody: !_isHead && statusCode is not (204 or 205 or 304));
        }
        catch
        {
            EndStart();
            throw;
        }
    }

    /// <summary>Called after an attempt to start: if it has failed, the headers can be changed again.</summary>
    private void EndStart()
    {
        if (!_hasStarted)
            _headers.SetReadOnly(_isOffloaded);
    }

    /// <summary>Publishes a head, unless another thread has. From now on, status and headers are final.</summary>
    /// <param name="writeLength">The length of the part of the body that is written at once.</param>
    /// <param name="isEnd">Whether the body is complete.</param>
    private void Start(ConnectionScope scope, in EncodedHead head, int writeLength, bool isEnd = false)
    {
        if (_hasStarted)
            return;

        ref var state = ref In(scope);
        CheckWrite(ref state, writeLength, head.ContentLength, head.CanWriteBody);
        // Not earlier: if the response cannot start, nothing may be staged.
        state.BytesWritten += writeLength;
        state.DeclaredLength = head.ContentLength;
        state.CanWriteBody = head.CanWriteBody;
        state.EndLease();
        if (!head.CanWriteBody)
        {
            state.Clear();
            // nginx closes the connection as soon as it has the headers of the response to HEAD.
            _request.OnResponded();
        }

        HeadLength = head.Bytes.Length;
        state.PutHead(head.Bytes.Span, head.LengthPosition, isEnd, head.CanWriteBody ? writeLength : 0);
        _hasStarted = true;
    }

    /// <param name="Bytes">Valid until the next response starts on this thread.</param>
    /// <param name="ContentLength">The length that the headers declare.</param>
    /// <param name="LengthPosition">Where the server may add a length.</param>
    private readonly record struct EncodedHead(
        ReadOnlyMemory<byte> Bytes, long? ContentLength, int LengthPosition, bool CanWriteBody);

    private void CompleteHeaders(ref HeaderTable headers, int statusCode)
    {
        DropZeroLengthWithoutBody(ref headers, statusCode);
        // Otherwise, nginx buffers an event stream.
        var isEventStream = headers.Get(Known.ContentType).ToString()
            .StartsWith("text/event-stream", StringComparison.OrdinalIgnoreCase);
        if ((_isBufferingDisabled || isEventStream) && headers.Find("X-Accel-Buffering") < 0)
            headers.Set("X-Accel-Buffering", "no");
        // mod_deflate and mod_brotli would compress the response, and send their coding in addition.
        if (HasIdentityCoding(ref headers) && _request.WebServer == WebServerKind.Apache)
            headers.Remove(Known.ContentEncoding);
        // HAProxy would send a second length over HTTP/2, which clients reject. A 304 needs none (RFC 9110, 8.6).
        if (statusCode == StatusCodes.Status304NotModified && headers.ContentLength is not null
            && _request.WebServer == WebServerKind.HaProxy)
            headers.Remove(Known.ContentLength);
    }

    /// <summary>Blazor and event streams set identity (RFC 9110, section 8.4.1) to prevent compression.</summary>
    private static bool HasIdentityCoding(ref HeaderTable headers)
        => headers.Get(Known.ContentEncoding) is { Count: > 0 } codings
            && codings.ToString().Split(',', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries)
                .All(static coding => coding.Equals("identity", StringComparison.OrdinalIgnoreCase));

    /// <summary>Responses without a body must not declare a length other than 0, and a 204 none at all.</summary>
    private static void DropZeroLengthWithoutBody(ref HeaderTable headers, int statusCode)
    {
        if (statusCode is not (204 or 205) || headers.ContentLength is not { } contentLength)
            return;

        if (contentLength != 0)
            throw new InvalidOperationException(statusCode == StatusCodes.Status204NoContent
                ? "Setting the header Content-Length is not allowed on responses with status code 204."
                : "Responses with status code 205 cannot have a non-zero Content-Length value.");

        if (statusCode == StatusCodes.Status204NoContent)
            headers.Remove(Known.ContentLength);
    }
}
