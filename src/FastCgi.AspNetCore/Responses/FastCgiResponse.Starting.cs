using FastCgi.AspNetCore.Cgi;
using Microsoft.AspNetCore.Http;
using Known = Microsoft.Net.Http.Headers.HeaderNames;

namespace FastCgi.AspNetCore.Responses;

/// <content>How status and headers become final: at the first flush or write, or when the application says so, or at its end.</content>
internal sealed partial class FastCgiResponse
{
    /// <inheritdoc/>
    public Task StartAsync(CancellationToken cancellationToken = default)
    {
        cancellationToken.ThrowIfCancellationRequested();
        return StartAsync(_generation, writeLength: 0).AsTask();
    }

    /// <summary>Makes status and headers final, for a response that is at its end.</summary>
    public void StartAtEnd()
    {
        lock (_output)
        {
            if (HasStarted)
                return;

            // In the headers, for what looks at them later: the request log.
            if (_bytesWritten == 0 && _applicationHeaders.ContentLength is null && CanHaveContentLength)
                _applicationHeaders.ContentLength = 0;
            Start();
        }
    }

    /// <summary>Calls the OnStarting callbacks. The first that throws is an error of the application, and those behind it are not called.</summary>
    public async Task FireOnStartingAsync()
    {
        try
        {
            while (_onStarting.Any)
            {
                var (callback, state) = _onStarting.Pop();
                await callback(state);
            }
        }
        catch (Exception exception)
        {
            _onStarting.Clear();
            _owner.ReportApplicationError(exception);
        }
    }

    /// <inheritdoc/>
    public void DisableBuffering() => _isBufferingDisabled = true;

    /// <returns>Whether the write was counted, because it started the response.</returns>
    private ValueTask<bool> StartAsync(int generation, int writeLength)
    {
        lock (_output)
        {
            ThrowIfStale(generation);
            if (HasStarted)
                return new ValueTask<bool>(false);

            if (!HasOnStarting)
            {
                StartWithWrite(writeLength);
                return new ValueTask<bool>(true);
            }
        }

        return StartSlowAsync(generation, writeLength);
    }

    private async ValueTask<bool> StartSlowAsync(int generation, int writeLength)
    {
        await FireOnStartingAsync();
        lock (_output)
        {
            ThrowIfStale(generation);
            if (HasStarted)
                return false;

            StartWithWrite(writeLength);
            return true;
        }
    }

    private void StartWithWrite(int writeLength)
    {
        if (_owner.ApplicationError is { } error)
            throw new ObjectDisposedException("The response has been aborted due to an unhandled application exception.", error);

        CountWrite(writeLength);
        Start();
    }

    /// <summary>Makes status and headers final.</summary>
    private void Start()
    {
        if (_statusCode is < 200 or > 999)
            throw new InvalidOperationException($"A FastCGI response cannot have the status code {_statusCode}.");
        if (_statusCode == 200 && !_owner.CanAnswerOk)
        {
            throw new InvalidOperationException(
                "A request in the role Authorizer was answered 200, which would allow it, by something that is no authorizer. Use MapFastCgiAuthorizer.");
        }

        DropZeroLengthWithoutBody();
        TakeReplacedHeaders();
        NoteReservedHeaders();

        // nginx would hold an event stream back until its buffers are full.
        if (_isBufferingDisabled || _headers.TryGetValue(Known.ContentType, out var type) && type.ToString().StartsWith("text/event-stream", StringComparison.OrdinalIgnoreCase))
            _headers.TryAppend("X-Accel-Buffering", "no");

        _headers.MakeReadOnly();
        _output.EndLease();
        _canWriteBody = !_owner.IsHeadRequest && _statusCode is not (204 or 205 or 304);
        if (!_canWriteBody)
        {
            _output.ClearStaged();
            // nginx closes the connection as soon as it has the headers that answer HEAD.
            _owner.OnResponseAnswered();
        }

        _phase = Phase.Started;
    }

    /// <summary>Answers of some statuses have no body, so that a length other than 0 is a mistake, and 0 is left out of a 204.</summary>
    private void DropZeroLengthWithoutBody()
    {
        if (_statusCode is not (204 or 205) || _applicationHeaders.ContentLength is not { } contentLength)
            return;

        if (contentLength != 0)
        {
            throw new InvalidOperationException(_statusCode == StatusCodes.Status204NoContent
                ? "Setting the header Content-Length is not allowed on responses with status code 204."
                : "Responses with status code 205 cannot have a non-zero Content-Length value.");
        }

        if (_statusCode == StatusCodes.Status204NoContent)
            _applicationHeaders.ContentLength = null;
    }

    /// <summary>The application may have put another dictionary in place of ours, which may even be a view of ours.</summary>
    private void TakeReplacedHeaders()
    {
        if (ReferenceEquals(_applicationHeaders, _headers))
            return;

        var replaced = _applicationHeaders.ToArray();
        _headers.Clear();
        foreach (var (name, value) in replaced)
            _headers[name] = value;
    }

    private void NoteReservedHeaders()
    {
        string? reserved = null;
        foreach (var (name, _) in _headers.Entries)
        {
            if (CgiResponseWriter.IsReserved(name))
                reserved = reserved is null ? name : $"{reserved}, {name}";
        }

        if (reserved is not null)
            _owner.OnHeadersDropped(reserved);
    }
}
