using System.IO.Pipelines;

namespace FastCgi.Client.Connections;

/// <summary>
/// A request on a connection, and its response. The receiving loop of the connection writes, the caller reads, and the
/// pipe between them applies backpressure. Either side can end the exchange; it ends once.
/// </summary>
internal sealed class Exchange
{
    // The time to read the rest of a request body after the response, to verify its length.
    private static readonly TimeSpan s_verificationTimeout = TimeSpan.FromSeconds(1);

    private readonly ClientConnection _connection;
    private readonly FastCgiClientOptions _options;
    private readonly bool _isReused;
    private readonly Pipe _stdout;
    private readonly ArrayBufferWriter<byte> _standardError = new();
    private readonly TaskCompletionSource<FastCgiCompletion> _completion =
        new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly CancellationTokenSource _sending = new();
    private readonly Lock _lock = new();
    private volatile Exception? _failure;
    private volatile bool _isEnding;
    private bool _isOutputComplete;
    private bool _isStdoutEnded;

    public Exchange(
        ClientConnection connection, FastCgiRequestMessage request, bool isReused, FastCgiClientOptions options)
    {
        _connection = connection;
        _options = options;
        _isReused = isReused;
        Request = request;
        Sender = new RecordSender(connection, this);
        var pause = Math.Max(options.MaxResponseBufferSize, 2);
        _stdout = new Pipe(new PipeOptions(
            pauseWriterThreshold: pause, resumeWriterThreshold: pause / 2, useSynchronizationContext: false));
        // Observes the exception: the caller may ignore the completion.
        _ = _completion.Task.ContinueWith(static task => task.Exception, TaskScheduler.Default);
    }

    public FastCgiRequestMessage Request { get; }

    /// <summary>Whether a close notice arrived instead of a response: the request was not executed.</summary>
    public bool IsRefused { get; set; }

    /// <summary>Whether the application cannot have received any of the request.</summary>
    public bool IsUnsent { get; set; } = true;

    public RecordSender Sender { get; }

    /// <summary>Completes, always successfully, when the request body is no longer read.</summary>
    public TaskCompletionSource Sent { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);

    /// <summary>Whether any of the response has been received.</summary>
    public bool HasReceived { get; private set; }

    public CancellationToken SendingToken => _sending.Token;
    public Task<FastCgiCompletion> Completion => _completion.Task;
    public PipeReader Output => _stdout.Reader;
    public Exception? Failure => _failure;

    /// <summary>The reason why the response is incomplete, if it is. Valid once the output is completed.</summary>
    public FastCgiProtocolException? Cut { get; private set; }

    /// <summary>Whether the request can be sent again: it was not executed, or repeating it is safe.</summary>
    public bool MayRetry(FastCgiProtocolException exception)
    {
        if (exception.Error != FastCgiProtocolError.ConnectionClosed || HasReceived || !Request.CanSendAgain)
            return false;
        if (IsUnsent || IsRefused)
            return true;
        // The application probably closed an idle connection, but may have executed the request.
        return _isReused && (Request.IsIdempotent || _options.RetriesUnsafeRequests);
    }

    public async Task<FastCgiResponseMessage> ReadHeadAsync(CancellationToken cancellationToken)
    {
        var registration = cancellationToken.UnsafeRegister(
            static (state, token) => ((Exchange)state!).Abort(new OperationCanceledException(token)), this);
        await using var waiting = registration.ConfigureAwait(false);
        try
        {
            var head = await ReadHeaderBlockAsync().ConfigureAwait(false);
            // The length of the request body is being verified.
            if (_isEnding)
                await Completion.ConfigureAwait(false);
            var hasBody = Request.Parameters["REQUEST_METHOD"] != "HEAD" && head.StatusCode is not (204 or 304);
            return new FastCgiResponseMessage(this, head, hasBody);
        }
        catch (Exception exception)
        {
            Abort(exception);
            throw;
        }
    }

    /// <summary>Ends the exchange on behalf of the caller. The first reason wins.</summary>
    public void Abort(Exception reason)
    {
        if (Interlocked.CompareExchange(ref _failure, reason, null) is not null)
            return;

        (reason as FastCgiProtocolException)?.Address = _connection.Address;
        _completion.TrySetException(reason);
        Output.CancelPendingRead();
        _stdout.Writer.CancelPendingFlush();
        StopSending();
        _connection.Abandon(this);
    }

    /// <summary>Called when the connection has ended. The caller can still read received data.</summary>
    public void OnConnectionEnded(FastCgiProtocolException exception)
    {
        EndStdout(exception);
        _completion.TrySetException(exception);
        StopSending();
    }

    /// <summary>Cancels the source of the request body, on another thread: its callbacks are foreign code.</summary>
    public void StopSending() => _ = _sending.CancelAsync();

    public void OnStdout(ReadOnlySpan<byte> content, bool isEmptyRecord)
    {
        HasReceived = true;
        _isOutputComplete |= isEmptyRecord;
        if (isEmptyRecord && _failure is null && !Sender.IsLengthUnverified)
            EndStdout(cut: null);

        // Under the lock, because another thread may complete the writer, which returns its memory.
        lock (_lock)
        {
            if (_failure is null && !_isStdoutEnded)
                _stdout.Writer.Write(content);
        }
    }

    public string GetStandardError()
    {
        lock (_lock)
            return Encoding.UTF8.GetString(_standardError.WrittenSpan);
    }

    public void OnStandardError(ReadOnlySpan<byte> content)
    {
        HasReceived = true;
        lock (_lock)
            _standardError.Write(
                content[..Math.Min(content.Length, _options.MaxStandardErrorSize - _standardError.WrittenCount)]);
    }

    /// <summary>Handles END_REQUEST. Ends the response once the length of the request body is verified.</summary>
    public async Task EndAsync(int appStatus, FastCgiProtocolStatus protocolStatus)
    {
        HasReceived = true;
        if (!Sender.IsEndSent)
        {
            _isEnding = true;
            if (Sender.IsLengthUnverified)
                await Sent.Task.WaitAsync(s_verificationTimeout, _options.TimeProvider)
                    .ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            StopSending();
        }

        if (_failure is not null)
            return;

        var completion = new FastCgiCompletion(appStatus, protocolStatus, GetStandardError());
        // A program that failed before it closed its output has not written all of it.
        EndStdout(appStatus == 0 || _isOutputComplete ? null : new FastCgiProtocolException(
            FastCgiProtocolError.BodyTooShort,
            $"The application ended an incomplete response with appStatus {appStatus}.")
        { Completion = completion, Address = _connection.Address });
        _completion.TrySetResult(completion);
    }

    /// <summary>Waits while the buffer of the response is full.</summary>
    public ValueTask<FlushResult> FlushAsync()
        => _isStdoutEnded || _failure is not null ? default : _stdout.Writer.FlushAsync();

    private void EndStdout(FastCgiProtocolException? cut)
    {
        lock (_lock)
        {
            if (_isStdoutEnded)
                return;

            _isStdoutEnded = true;
            Cut = cut;
            _stdout.Writer.Complete();
        }
    }

    private async Task<HeaderBlock> ReadHeaderBlockAsync()
    {
        var searched = 0;
        while (true)
        {
            var result = await Output.ReadAsync().ConfigureAwait(false);
            if (_failure is { } failure)
                throw failure;

            var buffer = result.Buffer;
            var bytes = buffer.IsSingleSegment ? buffer.FirstSpan : buffer.ToArray();
            var length = HeaderBlock.FindEnd(bytes, ref searched);
            if ((length < 0 ? bytes.Length : length) > _options.MaxResponseHeadersSize)
                throw new FastCgiProtocolException(FastCgiProtocolError.HeadersTooLarge,
                    $"The headers exceed {_options.MaxResponseHeadersSize} bytes.");

            if (length > 0)
            {
                var head = HeaderBlock.Parse(bytes[..length]);
                Output.AdvanceTo(buffer.GetPosition(length));
                return head;
            }

            Output.AdvanceTo(buffer.Start, buffer.End);
            if (result.IsCompleted)
                throw ExplainNoResponse(await Completion.ConfigureAwait(false));
        }
    }

    private FastCgiProtocolException ExplainNoResponse(FastCgiCompletion completion)
    {
        var why = completion.ProtocolStatus switch
        {
            FastCgiProtocolStatus.RequestComplete
                => $"The request ended without a header block, with appStatus {completion.AppStatus}.",
            FastCgiProtocolStatus.CantMultiplexConnection
                => "The application accepts only one request at a time on a connection (CANT_MPX_CONN).",
            FastCgiProtocolStatus.Overloaded => "The application is overloaded (OVERLOADED).",
            FastCgiProtocolStatus.UnknownRole
                => $"The application does not serve the role {Request.Role} (UNKNOWN_ROLE).",
            _ => $"The application refused the request with protocolStatus {(int)completion.ProtocolStatus}.",
        };
        return new FastCgiProtocolException(FastCgiProtocolError.NoAnswer, why) { Completion = completion };
    }
}
