using System.Text;
using FastCgi.AspNetCore.Diagnostics;
using FastCgi.AspNetCore.Protocol;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Http;
using Known = Microsoft.Net.Http.Headers.HeaderNames;

namespace FastCgi.AspNetCore.Responses;

/// <content>How the response ends: as the application made it, or as an error of the server's own.</content>
internal sealed partial class FastCgiResponse
{
    /// <summary>The application's own attempts to complete the response, which may still be under way.</summary>
    public Task? Completion => _lazy is { } lazy ? Volatile.Read(ref lazy.Completion) : null;

    /// <inheritdoc/>
    public Task CompleteAsync()
    {
        var generation = _generation;
        return CompleteAsync(generation, exception: null).AsTask();
    }

    /// <summary>Begins to complete the response, for a caller that cannot wait.</summary>
    public void BeginComplete(int generation, Exception? exception)
    {
        var completion = CompleteAsync(generation, exception);
        if (completion.IsCompleted)
            completion.GetAwaiter().GetResult();
        else
            _ = completion.AsTask();
    }

    /// <summary>Completes the response while the application may go on.</summary>
    public ValueTask CompleteAsync(int generation, Exception? exception)
    {
        // Recorded before it begins: the application may give up on it, not wait for it at all, or run it beside its own return, and the
        // object must not serve another request before it is over.
        var attempt = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        using (_output.EnterLock())
        {
            if (IsCurrent(generation))
                Volatile.Write(ref Lazy.Completion, Completion is { } earlier ? Task.WhenAll(earlier, attempt.Task) : attempt.Task);
        }

        var completion = CompleteCoreAsync(generation, exception);
        if (completion.IsCompleted)
        {
            // What it throws is the caller's.
            attempt.SetResult();
            return completion;
        }

        return new ValueTask(FollowAsync(completion, attempt));
    }

    private static async Task FollowAsync(ValueTask completion, TaskCompletionSource attempt)
    {
        try
        {
            await completion;
        }
        catch (Exception exception)
        {
            attempt.SetException(exception);
            throw;
        }

        attempt.SetResult();
    }

    /// <summary>Ends the response when the application has returned, unless that has been done: the end is queued and sent.</summary>
    /// <returns>Whether the outlet has taken everything.</returns>
    /// <exception cref="InvalidOperationException">The application has written less than its Content-Length, or what cannot be sent.</exception>
    public bool Finish()
    {
        SetZeroLengthOfReplacedHeaders();
        ResponseOutput.EndedResponse ended;
        using (EnterToStart(out var head))
        {
            CloseBody();
            if (IsCompleted)
                return false;

            ThrowIfTooShort(in head);
            ended = EndLocked(in head, ProtocolStatus.RequestComplete);
            // The application has returned: callbacks that register more are yet to be called.
            _isCompletedFired = !HasOnCompleted;
        }

        return OnEnded(ended);
    }

    /// <summary>Ends the response so that the client sees that the rest is missing.</summary>
    /// <returns>How it ended; it is for the caller to reset the connection.</returns>
    public ResponseEnd Cut()
    {
        ResponseOutput.EndedResponse ended;
        using (_output.EnterLock())
        {
            CloseBody();
            ended = _output.Cut();
        }

        OnEnded(ended);
        return ended.End;
    }

    /// <summary>
    /// Makes another response of one that has not started, and ends it: an answer of the server's own, without a body unless one is given.
    /// In one step, so that nothing of it is an application's that goes on in another thread.
    /// </summary>
    /// <param name="statusCode">Its status.</param>
    /// <param name="body">Its body, in ASCII.</param>
    /// <param name="status">What END_REQUEST says.</param>
    /// <returns>Whether the response had not started.</returns>
    public bool TryFinishAsError(int statusCode, string? body = null, ProtocolStatus status = ProtocolStatus.RequestComplete)
    {
        ResponseOutput.EndedResponse ended;
        using (_output.EnterLock())
        {
            CloseBody();
            if (HasStarted)
                return false;

            BecomeErrorLocked(statusCode, body);
            ended = EndLocked(head: default, status);
        }

        OnEnded(ended);
        return true;
    }

    /// <summary>Sets the status of a response that was aborted before it started, for logs and metrics.</summary>
    public void SetAbortedStatus() => _statusCode = StatusCodes.Status499ClientClosedRequest;

    private async ValueTask CompleteCoreAsync(int generation, Exception? exception)
    {
        using (_output.EnterLock())
        {
            ThrowIfStale(generation);
            if (IsCompleted)
                return;
        }

        if (exception is not null)
        {
            Fail(generation, new ConnectionAbortedException("The BodyPipe was completed with an exception.", exception));
        }
        else if (!HasStarted && HasOnStarting)
        {
            await FireOnStartingAsync(generation);
        }

        if (TryFinish(generation, out var ended) && !OnEnded(ended))
            await _output.DrainAsync();
    }

    private void Fail(int generation, Exception exception)
    {
        Action log;
        int? aborted = null;
        using (_output.EnterLock())
        {
            ThrowIfStale(generation);
            log = _owner.RecordApplicationError(exception);
            if (HasStarted)
                aborted = _owner.Generation;
        }

        log();
        if (aborted is { } requestGeneration)
            _owner.Abort(requestGeneration);
    }

    /// <returns>Whether there is an end to send.</returns>
    private bool TryFinish(int generation, out ResponseOutput.EndedResponse ended)
    {
        ended = default;
        var hasFailed = _owner.ApplicationError is not null;
        using (EnterToStart(out var head, isPrepared: !hasFailed))
        {
            ThrowIfStale(generation);
            // What was started and failed cannot be completed: the end of the request cuts it.
            if (IsCompleted || (hasFailed && HasStarted))
                return false;

            if (hasFailed)
                BecomeErrorLocked(StatusCodes.Status500InternalServerError, body: null);
            else
                ThrowIfTooShort(in head);
            ended = EndLocked(in head, ProtocolStatus.RequestComplete);
            return true;
        }
    }

    /// <summary>With the lock held, because another thread may have declared a length since anybody looked.</summary>
    private void ThrowIfTooShort(in PreparedHead head)
    {
        var declared = HasStarted ? _headers.DeclaredLength : (head.Headers ?? _headers).DeclaredLength;
        if (_bytesWritten < declared && !_isHead && _statusCode != StatusCodes.Status304NotModified)
            throw new InvalidOperationException($"Response Content-Length mismatch: too few bytes written ({_bytesWritten} of {declared}).");
    }

    private bool OnEnded(in ResponseOutput.EndedResponse ended)
    {
        ended.Send();
        LogHead();
        if (_bytesWritten > 0 && _isHead)
            _owner.Log.HeadBodyWritten(_owner.ConnectionId, _owner.TraceIdentifier, _bytesWritten);
        return ended.IsDrained;
    }

    private ResponseOutput.EndedResponse EndLocked(in PreparedHead head, ProtocolStatus status)
    {
        if (!HasStarted)
        {
            // In the headers, for what looks at them later: the request log.
            if (_bytesWritten == 0 && head.Headers is null && _headers.DeclaredLength is null && CanHaveContentLength)
                _headers.ContentLength = 0;
            Start(in head, writeLength: 0);
        }

        _phase = Phase.Completed;
        return _output.End(status);
    }

    private void SetZeroLengthOfReplacedHeaders()
    {
        if (!ReferenceEquals(_applicationHeaders, _headers) && !HasStarted && _bytesWritten == 0
            && _applicationHeaders.ContentLength is null && CanHaveContentLength)
        {
            _applicationHeaders.ContentLength = 0;
        }
    }

    private void BecomeErrorLocked(int statusCode, string? body)
    {
        _lazy?.OnStarting.Clear();
        _output.ClearStaged();
        _headers.Restart();
        // The application's may have been what failed.
        _headers.EncodingSelector = null;
        _applicationHeaders = _headers;
        _isBufferingDisabled = false;
        _isOffloaded = false;
        if (_lazy is not null)
            _lazy.ReasonPhrase = null;
        _statusCode = statusCode;
        _bytesWritten = 0;
        if (statusCode == StatusCodes.Status405MethodNotAllowed)
            _headers[Known.Allow] = HttpMethods.Options;
        if (statusCode == StatusCodes.Status503ServiceUnavailable)
            _headers[Known.RetryAfter] = "1";
        if (body is null)
        {
            _headers.ContentLength = 0;
            return;
        }

        _headers[Known.ContentType] = "text/plain; charset=utf-8";
        _headers.ContentLength = body.Length;
        if (!_isHead)
            _output.Write(Encoding.ASCII.GetBytes(body));
    }

    /// <summary>The application has returned: from now on it cannot write. With the lock held.</summary>
    public void CloseBody()
    {
        if (!_isBodyOpen)
            return;

        _isBodyOpen = false;
        _generation++;
        // New ones for each request: nobody can tell an application that kept an old one from the one that it was given to anew.
        _writer = null;
        _stream = null;
        _output.EndLease();
    }
}
