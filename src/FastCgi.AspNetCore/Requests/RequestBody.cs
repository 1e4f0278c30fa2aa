using System.Buffers;
using System.IO.Pipelines;
using FastCgi.AspNetCore.Buffers;
using Microsoft.AspNetCore.Http;
using MinDataRate = Microsoft.AspNetCore.Server.Kestrel.Core.MinDataRate;

namespace FastCgi.AspNetCore.Requests;

/// <summary>
/// The body of a request between the connection, which puts in what STDIN brings, and the application, which reads. The connection
/// never waits: what is not read is counted, and beyond the window receiving pauses.
/// </summary>
/// <remarks>The connection's side takes its scope; the application's side is for one reader at a time, as with any pipe.</remarks>
internal sealed class RequestBody
{
    private readonly Pipe _pipe;
    private readonly BodyMemory _memory;
    private readonly long? _declaredLength;
    private long? _maxLength;
    private long _receivedLength;
    private long _consumedLength;
    private long _examinedLength;

    // How much a read waits for, counted from the start of the body; 0 while none waits.
    private long _wantedLength;

    // What was read and not advanced.
    private ReadOnlySequence<byte>? _result;
    private bool _isInputOver;
    private bool _isReaderOver;
    private BodyDataRate? _rate;

    /// <param name="memory">Where memory comes from.</param>
    /// <param name="declaredLength">CONTENT_LENGTH, or <see langword="null"/> if only the end of STDIN tells.</param>
    public RequestBody(BodyMemory memory, long? declaredLength)
    {
        _declaredLength = declaredLength;
        _memory = memory;
        _pipe = new Pipe(new PipeOptions(
            memory, readerScheduler: PipeScheduler.ThreadPool, writerScheduler: PipeScheduler.Inline,
            pauseWriterThreshold: 0, resumeWriterThreshold: 0, minimumSegmentSize: BufferPool.SmallBlockSize, useSynchronizationContext: false));
    }

    public long ReceivedLength => Volatile.Read(ref _receivedLength);

    /// <summary>
    /// The bytes that the reader has not examined, while there are more to come. What it has examined and not consumed, such as one
    /// string of two megabytes, does not count, because it waits for more (as in .NET's own pipes, and so in Kestrel); nor does what a
    /// read waits for that wants a number of bytes.
    /// </summary>
    public long UnreadLength => _isInputOver || IsReaderOver
        ? 0
        : Math.Max(0, ReceivedLength - Math.Max(Volatile.Read(ref _examinedLength), Volatile.Read(ref _wantedLength)));

    public bool IsInputOver => _isInputOver;

    public bool IsReaderOver => Volatile.Read(ref _isReaderOver);

    /// <summary>Whether a read waits for more, so that its reader may come back at any time.</summary>
    public bool IsReading => Volatile.Read(ref _wantedLength) > 0;

    /// <summary>Whether it must come at some rate.</summary>
    public bool IsTimed => !_isInputOver && Volatile.Read(ref _rate) is not null;

    /// <summary>A read waits: from now on the body must come at a rate. The first rate counts.</summary>
    /// <param name="rate">The rate.</param>
    public void Time(MinDataRate rate, long now)
    {
        if (_rate is null)
            Volatile.Write(ref _rate, new BodyDataRate(rate, now));
        _rate.OnWaiting();
    }

    /// <summary>Counts the time that the application has waited. Called every second or so.</summary>
    /// <param name="isPaused">Whether nothing is received, so that the time does not count.</param>
    /// <returns>The rate, if the body comes too slowly.</returns>
    public MinDataRate? FindRateMissed(TimeProvider time, long now, bool isPaused)
        => IsTimed && _rate!.IsMissed(time, now, isPaused, IsReading, _receivedLength) ? _rate.Required : null;

    /// <summary>Puts content of STDIN in. What is more than the declared length is not handed on.</summary>
    public void Append(ConnectionScope connection, ReadOnlySpan<byte> content)
    {
        if (_isInputOver || content.IsEmpty)
            return;

        var left = _declaredLength - _receivedLength;
        if (content.Length > left)
            content = content[..(int)left.Value];

        if (!IsReaderOver)
        {
            content.CopyTo(_pipe.Writer.GetSpan(content.Length));
            _pipe.Writer.Advance(content.Length);
        }

        Volatile.Write(ref _receivedLength, _receivedLength + content.Length);
        if (_receivedLength == _declaredLength)
            CompleteInput(connection, exception: null);
        else
            Flush();
    }

    /// <summary>STDIN has ended. With fewer bytes than declared the client has failed, and so does the read.</summary>
    public void EndInput(ConnectionScope connection)
        => CompleteInput(connection, _receivedLength < _declaredLength ? UnexpectedEnd() : null);

    /// <summary>Nothing more will come: a read that waits, and each later one, ends, with the exception if there is one.</summary>
    public void CompleteInput(ConnectionScope connection, Exception? exception)
    {
        if (_isInputOver)
            return;

        _isInputOver = true;
        _pipe.Writer.Complete(exception);
    }

    /// <summary>Gets ready for a read: throws if another one waits, or if more is declared than may be read.</summary>
    /// <param name="maxLength">The most bytes that may be read, or <see langword="null"/>.</param>
    public void BeginRead(long? maxLength)
    {
        // The pipe would throw too, but lose the read that waits.
        if (IsReading)
            throw new InvalidOperationException("Reading is already in progress.");

        if (_declaredLength > maxLength)
            throw TooLarge(maxLength.Value);
        _maxLength = maxLength;
    }

    public ValueTask<ReadResult> ReadAsync(CancellationToken cancellationToken)
        => NoteAsync(_pipe.Reader.ReadAsync(cancellationToken), minimumSize: 1);

    public ValueTask<ReadResult> ReadAtLeastAsync(int minimumSize, CancellationToken cancellationToken)
    {
        // No more is waited for than what shows that the body is too large. Not limit + 1, which may be too large for a number.
        if (_maxLength is { } limit && limit - _consumedLength < minimumSize)
            minimumSize = (int)(limit - _consumedLength) + 1;
        return NoteAsync(_pipe.Reader.ReadAtLeastAsync(minimumSize, cancellationToken), minimumSize);
    }

    public bool TryRead(out ReadResult result)
    {
        if (!_pipe.Reader.TryRead(out result))
            return false;

        Note(result);
        return true;
    }

    /// <summary>Says how far the result of the last read was used. After it, a thread that asks whether receiving is paused sees it the right way.</summary>
    public void AdvanceTo(SequencePosition consumed, SequencePosition examined)
    {
        // The pipe looks whether there is a result when it has given segments back already: with a position in one that it has used again
        // since, those of other requests too.
        if (_result is not { } result)
            throw new InvalidOperationException("No reading operation to complete.");

        var consumedLength = GetReadLength(result, consumed);
        var examinedLength = GetReadLength(result, examined);
        _pipe.Reader.AdvanceTo(consumed, examined);
        _result = null;
        Interlocked.Exchange(ref _examinedLength, Math.Max(_examinedLength, _consumedLength + examinedLength));
        _consumedLength += consumedLength;
    }

    /// <summary>Lets the read that waits, or else the next one, return as cancelled.</summary>
    public void CancelPendingRead() => _pipe.Reader.CancelPendingRead();

    /// <summary>Nothing more will be read. What was read and not advanced stays what it is: the application may still look at it.</summary>
    public void CompleteReader()
    {
        if (_isReaderOver)
            return;

        Interlocked.Exchange(ref _isReaderOver, true);
        _memory.IsLeased = IsReading || _result is { IsEmpty: false };
        _pipe.Reader.Complete();
    }

    /// <summary>The error of a body that is longer than the limit.</summary>
    public static BadHttpRequestException TooLarge(long limit)
        => new($"Request body too large. The max request body size is {limit} bytes.", StatusCodes.Status413PayloadTooLarge);

    /// <summary>The error of a body that ended before its declared length.</summary>
    public static BadHttpRequestException UnexpectedEnd() => new("Unexpected end of request content.", StatusCodes.Status400BadRequest);

    private async ValueTask<ReadResult> NoteAsync(ValueTask<ReadResult> read, int minimumSize)
    {
        if (read.IsCompletedSuccessfully)
            return Note(read.Result);

        // The pipe counts from what was examined. A reader that wants nothing waits for a byte all the same.
        Interlocked.Exchange(ref _wantedLength, _examinedLength + Math.Max(minimumSize, 1));
        try
        {
            return Note(await read.ConfigureAwait(false));
        }
        finally
        {
            Volatile.Write(ref _wantedLength, 0);
        }
    }

    /// <summary>How much of the result is in front of a position.</summary>
    /// <exception cref="ArgumentOutOfRangeException">
    /// The position is not in the result. The pipe would accept it, and write to memory that it has returned.
    /// </exception>
    private static long GetReadLength(in ReadOnlySequence<byte> result, SequencePosition position)
    {
        var segment = result.Start.GetObject() as ReadOnlySequenceSegment<byte>;
        while (segment is not null && segment != position.GetObject() && segment != result.End.GetObject())
            segment = segment.Next;
        if (segment != position.GetObject())
            throw new ArgumentOutOfRangeException(nameof(position), "The position is not one of the last read.");

        return segment is null ? 0 : result.Slice(0, position).Length;
    }

    private ReadResult Note(in ReadResult result)
    {
        _result = result.Buffer;
        if (_maxLength is { } limit && _consumedLength + result.Buffer.Length > limit)
        {
            _pipe.Reader.AdvanceTo(result.Buffer.Start, result.Buffer.Start);
            _result = null;
            throw TooLarge(limit);
        }

        return result;
    }

    private void Flush()
    {
        // Without a threshold the pipe takes whatever comes, so this is complete at once; it wakes the reader on the thread pool.
        var flush = _pipe.Writer.FlushAsync();
        if (flush.IsCompleted)
            flush.GetAwaiter().GetResult();
    }
}
