using FastCgi.AspNetCore.Cgi;
using FastCgi.AspNetCore.Diagnostics;
using Microsoft.AspNetCore.Http;

namespace FastCgi.AspNetCore.Requests;

/// <content>How status and headers become final: at the first flush or write, or when the application says so, or at its end.</content>
internal sealed partial class FastCgiResponse
{
    // Of an application that changes its headers each time it is asked for their encoding.
    private const int MaxPreparations = 8;

    /// <inheritdoc/>
    public Task StartAsync(CancellationToken cancellationToken = default)
    {
        cancellationToken.ThrowIfCancellationRequested();
        if (HasOnStarting && !HasStarted)
            return FireAndStartAsync();

        try
        {
            StartNow();
            return Task.CompletedTask;
        }
        catch (Exception exception)
        {
            return Task.FromException(exception);
        }
    }

    /// <summary>The calls of OnStarting callbacks that are under way, though the application may not wait for them.</summary>
    public Task? Starting => _lazy is { } lazy ? Volatile.Read(ref lazy.Starting) : null;

    /// <summary>Calls the OnStarting callbacks. The first that throws is an error of the application, and those behind it are not called.</summary>
    public Task FireOnStartingAsync()
    {
        var calls = CallOnStartingAsync();
        if (calls.IsCompleted)
            return calls;

        using (_request.EnterLock())
            Volatile.Write(ref Lazy.Starting, Starting is { IsCompleted: false } earlier ? Task.WhenAll(earlier, calls) : calls);
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
                Action log;
                using (var scope = _request.EnterLock())
                {
                    ThrowIfOver();
                    _lazy?.OnStarting.Clear();
                    log = _request.RecordApplicationError(scope, exception);
                }

                log();
                return;
            }
        }
    }

    private bool TryPopOnStarting(out (Func<object, Task> Callback, object State) callback)
    {
        using (_request.EnterLock())
        {
            ThrowIfOver();
            callback = HasOnStarting ? _lazy!.OnStarting.Pop() : default;
            return callback.Callback is not null;
        }
    }

    /// <inheritdoc/>
    public void DisableBuffering() => _isBufferingDisabled = true;

    private async Task FireAndStartAsync()
    {
        await FireOnStartingAsync();
        StartNow();
    }

    private void StartNow()
    {
        using (var scope = EnterToStart(out var head))
        {
            ThrowIfOver();
            if (!HasStarted)
                StartByApplication(scope, in head, writeLength: 0);
        }

        AdviseOnStart();
    }

    /// <summary>Takes the lock, to start the response if it has not started.</summary>
    /// <param name="head">What was asked of the application before.</param>
    /// <param name="isPrepared">Whether it is asked.</param>
    private RequestScope EnterToStart(out PreparedHead head, bool isPrepared = true)
    {
        for (var attempt = 1; ; attempt++)
        {
            head = isPrepared ? PrepareHead() : default;
            var scope = _request.EnterLock();
            // What another thread has changed since is sent too.
            if (head.Headers is null || head.Version == _headers.Version || attempt == MaxPreparations)
                return scope;

            scope.Dispose();
        }
    }

    /// <summary>
    /// Calls what the application has put in place of the server's own: its header dictionary, its choice of encodings. Without the lock, and
    /// without a change to anything, so that a thread that comes late does no harm.
    /// </summary>
    private PreparedHead PrepareHead()
    {
        var isReplaced = !ReferenceEquals(_applicationHeaders, _headers);
        if (HasStarted || (!isReplaced && _headers.EncodingSelector is null))
            return default;

        var version = _headers.Version;
        var copyLock = new RequestLock();
        var headers = new ResponseHeaders(copyLock) { EncodingSelector = _headers.EncodingSelector };
        foreach (var (name, value) in isReplaced ? _applicationHeaders.ToArray() : _headers.ToArray())
            headers[name] = value;
        bool isEventStream;
        using (var scope = copyLock.EnterLock())
            isEventStream = CompleteHeaders(scope, headers);
        var encodedFields = headers.EncodingSelector is null ? null : CgiResponseWriter.EncodeFields(headers.Entries, headers.EncodingSelector);
        return new PreparedHead(headers, encodedFields, isEventStream, version);
    }

    /// <summary>Starts the response because the application wants to.</summary>
    private void StartByApplication(RequestScope scope, in PreparedHead head, int writeLength)
    {
        if (_request.ApplicationError is { } error)
            throw new ObjectDisposedException("The response has been aborted due to an unhandled application exception.", error);

        Start(scope, in head, writeLength);
    }

    /// <summary>Makes status and headers final.</summary>
    /// <param name="head">What was prepared without it.</param>
    /// <param name="writeLength">The bytes of the write that starts the response.</param>
    private void Start(RequestScope scope, in PreparedHead head, int writeLength)
    {
        if (_statusCode is < 200 or > 999)
            throw new InvalidOperationException($"A FastCGI response cannot have the status code {_statusCode}.");
        // Some web servers allow access for any status of success, and none of these was meant as a permission.
        if (IsAuthorizer && !_request.MayAnswerAuthorizer(SentStatusCode))
        {
            throw new InvalidOperationException(
                $"A request in the role Authorizer was answered {SentStatusCode}, which could allow it, by something that is no authorizer. Use MapFastCgiAuthorizer.");
        }

        var isEventStream = head.IsEventStream;
        if (head.Headers is { } prepared)
        {
            CheckWrite(writeLength, prepared.DeclaredLength);
            _headers.TakeFrom(scope, prepared);
            if (head.EncodedFields is not null)
                Lazy.EncodedFields = head.EncodedFields;
        }
        else
        {
            CheckWrite(writeLength, _headers.DeclaredLength);
            isEventStream = CompleteHeaders(scope, _headers);
        }

        // Not before: of a response that could not start nothing was taken.
        _bytesWritten += writeLength;
        if (isEventStream)
            Lazy.IsEventStream = true;
        _headers.MakeReadOnly(scope);
        _output.EndLease(scope);
        if (!CanWriteBody)
        {
            _output.ClearStaged(scope);
            // nginx closes the connection as soon as it has the headers that answer HEAD.
            _request.OnAnswered();
        }

        _hasStarted = true;
    }

    /// <summary>Adds what the server adds, and removes what the status does not allow.</summary>
    /// <returns>Whether it is a stream of events.</returns>
    private bool CompleteHeaders(RequestScope scope, ResponseHeaders headers)
    {
        DropZeroLengthWithoutBody(headers);
        // nginx would hold an event stream back until its buffers are full.
        var isEventStream = headers.AreOfEventStream;
        if (_isBufferingDisabled || isEventStream)
            headers.TryAppend(scope, "X-Accel-Buffering", "no");
        return isEventStream;
    }

    /// <summary>Answers of some statuses have no body, so that a length other than 0 is a mistake, and 0 is left out of a 204.</summary>
    private void DropZeroLengthWithoutBody(ResponseHeaders headers)
    {
        if (_statusCode is not (204 or 205) || headers.ContentLength is not { } contentLength)
            return;

        if (contentLength != 0)
        {
            throw new InvalidOperationException(_statusCode == StatusCodes.Status204NoContent
                ? "Setting the header Content-Length is not allowed on responses with status code 204."
                : "Responses with status code 205 cannot have a non-zero Content-Length value.");
        }

        if (_statusCode == StatusCodes.Status204NoContent)
            headers.ContentLength = null;
    }

    /// <summary>Tells that a stream of events has started. No lock is held.</summary>
    private void AdviseOnStart()
    {
        if (_lazy is { IsEventStream: true } lazy && Interlocked.Exchange(ref lazy.IsEventStream, false))
            _request.Server.Advise(_request, static (advisor, request) => advisor.OnEventStreamStarted(request));
    }

    /// <summary>What was asked of the application before the response starts.</summary>
    /// <param name="Headers">The headers, checked, where they are not the server's own collection as it is.</param>
    /// <param name="EncodedFields">The header fields as bytes, where the application chooses encodings.</param>
    /// <param name="IsEventStream">Whether the headers are those of a stream of events.</param>
    /// <param name="Version">The version of the server's own collection that was seen.</param>
    private readonly record struct PreparedHead(ResponseHeaders? Headers, byte[]? EncodedFields, bool IsEventStream, int Version);
}
