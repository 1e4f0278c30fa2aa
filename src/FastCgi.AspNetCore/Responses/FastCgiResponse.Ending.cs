using System.IO.Pipelines;
using System.Text;
using FastCgi.AspNetCore.Protocol;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Http;
using Known = Microsoft.Net.Http.Headers.HeaderNames;

namespace FastCgi.AspNetCore.Responses;

/// <content>How the response ends: as the application made it, or as an error of the server's own.</content>
internal sealed partial class FastCgiResponse
{
    /// <summary>The task of a <see cref="PipeWriter.Complete"/>, which cannot wait for it.</summary>
    public Task? Completion { get; private set; }

    /// <summary>Begins to end the response, for a caller that cannot wait.</summary>
    public void BeginComplete(int generation, Exception? exception)
    {
        var completion = CompleteAsync(generation, exception);
        if (completion.IsCompleted)
            completion.GetAwaiter().GetResult();
        else
            Completion = completion.AsTask();
    }

    /// <summary>Ends the response while the application may go on.</summary>
    public async ValueTask CompleteAsync(int generation, Exception? exception)
    {
        lock (_output)
            ThrowIfStale(generation);

        if (IsCompleted)
            return;

        if (exception is not null)
            FailByApplication(exception);
        else if (!HasStarted)
            await FireOnStartingAsync();

        if (TryComplete(generation))
            await FinishAsync();
    }

    /// <summary>Ends the response: END_REQUEST is in the line, and sent unless this thread is about to flush anyway.</summary>
    /// <param name="status">What END_REQUEST says.</param>
    public ValueTask<FlushResult> FinishAsync(ProtocolStatus status = ProtocolStatus.RequestComplete)
    {
        if (_bytesWritten > 0 && _owner.IsHeadRequest)
            _owner.OnHeadBodyWritten(_bytesWritten);

        _phase = Phase.Completed;
        var isLast = _owner.OnResponseEnding();
        _output.End(status, isLast);
        _owner.OnResponseEnded();
        return _output.DrainAsync();
    }

    /// <inheritdoc/>
    public Task CompleteAsync() => CompleteAsync(_generation, exception: null).AsTask();

    /// <summary>Makes another response of one that has not started: an answer of the server's own, without a body.</summary>
    public void BecomeError(int statusCode, string? body = null)
    {
        lock (_output)
        {
            _onStarting.Clear();
            _output.ClearStaged();
            _headers.Begin();
            // The application's may have been what failed.
            _headers.EncodingSelector = null;
            _applicationHeaders = _headers;
            _isBufferingDisabled = false;
            _reasonPhrase = null;
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
            if (!_owner.IsHeadRequest)
                _output.Write(Encoding.ASCII.GetBytes(body));
        }
    }

    /// <summary>Sets the status of a response that was aborted before it started, for logs and metrics.</summary>
    public void SetAbortedStatus() => _statusCode = StatusCodes.Status499ClientClosedRequest;

    /// <summary>The error of an application that wrote less than its Content-Length.</summary>
    public InvalidOperationException? GetLengthMismatch()
    {
        var declared = _applicationHeaders.ContentLength;
        var isExempt = _owner.IsHeadRequest || StatusCode == StatusCodes.Status304NotModified;
        return declared is not null && !isExempt && _bytesWritten < declared
            ? new InvalidOperationException($"Response Content-Length mismatch: too few bytes written ({_bytesWritten} of {declared}).")
            : null;
    }

    /// <summary>The application has returned: from now on it cannot write.</summary>
    public void CloseBody()
    {
        lock (_output)
        {
            if (!_isBodyOpen)
                return;

            _isBodyOpen = false;
            _generation++;
            _output.EndLease();
        }
    }

    private void FailByApplication(Exception exception)
    {
        _owner.ReportApplicationError(new ConnectionAbortedException("The BodyPipe was completed with an exception.", exception));
        if (HasStarted)
            _owner.Abort();
    }

    /// <returns>Whether there is an end to send.</returns>
    private bool TryComplete(int generation)
    {
        lock (_output)
        {
            ThrowIfStale(generation);
            if (IsCompleted)
                return false;

            if (_owner.ApplicationError is null)
            {
                if (GetLengthMismatch() is { } mismatch)
                    throw mismatch;
            }
            else if (HasStarted)
            {
                // What was started cannot be completed: the end of the request cuts it.
                return false;
            }
            else
            {
                BecomeError(StatusCodes.Status500InternalServerError);
            }

            StartAtEnd();
            _phase = Phase.Completed;
            return true;
        }
    }
}
