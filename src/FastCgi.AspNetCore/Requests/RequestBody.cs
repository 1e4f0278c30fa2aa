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
/// <remarks>The side of the connection is used under its lock; the side of the application by one reader at a time, as with any pipe.</remarks>
internal sealed class RequestBody
{
    private const int Held = 1;
    private const int Over = 2;

    private readonly Pipe _pipe;
    private long? _declaredLength;
    private long? _maxLength;
    private long _receivedLength;
    private long _consumedLength;
    private long _examinedLength;
    private long _wantedLength;
    private ReadOnlySequence<byte> _readBuffer;
    private bool _isInputOver;
    private bool _isReaderOver;
    private bool _isReading;
    private bool _isResultOut;
    // Held, over, or both: then the end of the reader is up to who holds it.
    private int _hold;
    private BodyDataRate? _rate;

    public RequestBody(BufferPool pool)
    {
        _pipe = new Pipe(new PipeOptions(
            pool, readerScheduler: PipeScheduler.ThreadPool, writerScheduler: PipeScheduler.Inline,
            pauseWriterThreshold: 0, resumeWriterThreshold: 0, minimumSegmentSize: BufferPool.SmallBlockSize, useSynchronizationContext: false));
    }

    /// <summary>The bytes that were put in.</summary>
    public long ReceivedLength => _receivedLength;

    /// <summary>
    /// The bytes that the reader has not examined, while there are more to come. What it has examined and not consumed, such as one
    /// string of two megabytes, does not count, because it waits for more (as in .NET's own pipes, and so in Kestrel); nor does what a
    /// read waits for that wants a number of bytes.
    /// </summary>
    public long UnreadLength => _isInputOver || Volatile.Read(ref _isReaderOver)
        ? 0
        : Math.Max(0, Volatile.Read(ref _receivedLength) - Math.Max(Volatile.Read(ref _examinedLength), Volatile.Read(ref _wantedLength)));

    /// <summary>Whether nothing more will be put in.</summary>
    public bool IsInputOver => _isInputOver;

    /// <summary>Whether a read waits for more, so that its reader may come back at any time.</summary>
    public bool IsReading => Volatile.Read(ref _isReading);

    /// <summary>Whether somebody still reads the memory of a result.</summary>
    public bool IsHeld => (Volatile.Read(ref _hold) & Held) != 0;

    /// <summary>Whether it must come at some rate. With the lock of the connection held.</summary>
    public bool IsTimed => !_isInputOver && Volatile.Read(ref _rate) is not null;

    /// <summary>Begins with another body.</summary>
    /// <param name="declaredLength">CONTENT_LENGTH, or <see langword="null"/> if only the end of STDIN tells.</param>
    public void Begin(long? declaredLength)
    {
        _declaredLength = declaredLength;
        _receivedLength = 0;
        _consumedLength = 0;
        _examinedLength = 0;
        _wantedLength = 0;
        _isInputOver = false;
        _isReaderOver = false;
        _isResultOut = false;
        _hold = 0;
        _rate = null;
    }

    /// <summary>A read waits: from now on the body must come at a rate. The first rate counts.</summary>
    /// <param name="rate">The rate.</param>
    /// <param name="now">The time.</param>
    public void Time(MinDataRate rate, long now)
    {
        if (_rate is null)
            Volatile.Write(ref _rate, new BodyDataRate(rate, now));
        _rate.OnWaiting();
    }

    /// <summary>Counts the time that the application has waited. With the lock of the connection held, every second or so.</summary>
    /// <param name="time">The clock.</param>
    /// <param name="now">Its timestamp.</param>
    /// <param name="isPaused">Whether nothing is received, so that the time does not count.</param>
    /// <returns>The rate, if the body comes too slowly.</returns>
    public MinDataRate? FindRateMissed(TimeProvider time, long now, bool isPaused)
        => IsTimed && _rate!.IsMissed(time, now, isPaused, IsReading, _receivedLength) ? _rate.Required : null;

    /// <summary>Puts content of STDIN in. What is more than the declared length is not handed on.</summary>
    public void Append(ReadOnlySpan<byte> content)
    {
        if (_isInputOver || content.IsEmpty)
            return;

        var left = _declaredLength - _receivedLength;
        if (content.Length > left)
            content = content[..(int)left.Value];

        if (!Volatile.Read(ref _isReaderOver))
        {
            content.CopyTo(_pipe.Writer.GetSpan(content.Length));
            _pipe.Writer.Advance(content.Length);
        }

        Volatile.Write(ref _receivedLength, _receivedLength + content.Length);
        if (_receivedLength == _declaredLength)
            CompleteInput(exception: null);
        else
            Flush();
    }

    /// <summary>STDIN has ended. With fewer bytes than declared the client has failed, and so does the read.</summary>
    public void EndInput()
    {
        if (!_isInputOver)
            CompleteInput(_receivedLength < _declaredLength ? UnexpectedEnd() : null);
    }

    /// <summary>The rest will not come: a read that waits, and each later one, fails.</summary>
    public void Fail(Exception exception)
    {
        if (!_isInputOver)
            CompleteInput(exception);
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

    /// <summary>Reads what is there, or waits for it.</summary>
    public ValueTask<ReadResult> ReadAsync(CancellationToken cancellationToken)
        => NoteAsync(_pipe.Reader.ReadAsync(cancellationToken), minimumSize: 0);

    /// <summary>Reads at least so much, or to the end.</summary>
    public ValueTask<ReadResult> ReadAtLeastAsync(int minimumSize, CancellationToken cancellationToken)
    {
        // No more is waited for than what shows that the body is too large. Not limit + 1, which may be too large for a number.
        if (_maxLength is { } limit && limit - _consumedLength < minimumSize)
            minimumSize = (int)(limit - _consumedLength) + 1;
        return NoteAsync(_pipe.Reader.ReadAtLeastAsync(minimumSize, cancellationToken), minimumSize);
    }

    /// <summary>Reads what is there.</summary>
    public bool TryRead(out ReadResult result)
    {
        if (!_pipe.Reader.TryRead(out result))
            return false;

        Note(result);
        return true;
    }

    /// <summary>Says how far the result of the last read was used. Whoever then asks whether receiving is paused sees it the right way.</summary>
    public void AdvanceTo(SequencePosition consumed, SequencePosition examined)
    {
        // The pipe looks whether there is a result when it has given segments back already: with a position in one that it has used again
        // since, those of other requests too.
        if (!_isResultOut)
            throw new InvalidOperationException("No reading operation to complete.");

        var consumedLength = GetReadLength(consumed);
        var examinedLength = GetReadLength(examined);
        _pipe.Reader.AdvanceTo(consumed, examined);
        _readBuffer = default;
        _isResultOut = false;
        Interlocked.Exchange(ref _examinedLength, Math.Max(_examinedLength, _consumedLength + examinedLength));
        _consumedLength += consumedLength;
    }

    /// <summary>Lets the read that waits, or else the next one, return as cancelled.</summary>
    public void CancelPendingRead() => _pipe.Reader.CancelPendingRead();

    /// <summary>Nobody will read any more.</summary>
    public void CompleteReader(Exception? exception = null)
    {
        Interlocked.Exchange(ref _isReaderOver, true);
        _readBuffer = default;
        if ((Interlocked.Or(ref _hold, Over) & Held) == 0)
            _pipe.Reader.Complete(exception);
    }

    /// <summary>Keeps the memory of the last result, though the reader may be completed meanwhile.</summary>
    /// <returns>Whether it is there: if not, the reader was completed.</returns>
    public bool TryHold() => Interlocked.CompareExchange(ref _hold, Held, 0) == 0;

    /// <summary>Nobody reads the memory of the last result any more.</summary>
    public void Unhold()
    {
        if (Interlocked.CompareExchange(ref _hold, 0, Held) == Held)
            return;

        _pipe.Reader.Complete();
        Volatile.Write(ref _hold, Over);
    }

    /// <summary>Makes the body ready to be used for another request. Both sides must be over.</summary>
    public void Reset()
    {
        if (!_isInputOver)
            CompleteInput(exception: null);
        if (!_isReaderOver)
            CompleteReader();
        _pipe.Reset();
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

        Volatile.Write(ref _isReading, true);
        // The pipe counts from what was examined.
        Interlocked.Exchange(ref _wantedLength, _examinedLength + minimumSize);
        try
        {
            return Note(await read.ConfigureAwait(false));
        }
        finally
        {
            Volatile.Write(ref _wantedLength, 0);
            Volatile.Write(ref _isReading, false);
        }
    }

    /// <summary>How much of the result is in front of a position. One that is not in it is refused.</summary>
    private long GetReadLength(SequencePosition position)
        => _readBuffer.Start.GetObject() is null ? 0 : _readBuffer.Slice(0, position).Length;

    private ReadResult Note(in ReadResult result)
    {
        _readBuffer = result.Buffer;
        _isResultOut = true;
        if (_maxLength is { } limit && _consumedLength + _readBuffer.Length > limit)
        {
            _pipe.Reader.AdvanceTo(_readBuffer.Start, _readBuffer.Start);
            _isResultOut = false;
            throw TooLarge(limit);
        }

        return result;
    }

    private void CompleteInput(Exception? exception)
    {
        _isInputOver = true;
        _pipe.Writer.Complete(exception);
    }

    private void Flush()
    {
        // Without a threshold the pipe takes whatever comes, so this is complete at once; it wakes the reader on the thread pool.
        var flush = _pipe.Writer.FlushAsync();
        if (flush.IsCompleted)
            flush.GetAwaiter().GetResult();
    }
}
