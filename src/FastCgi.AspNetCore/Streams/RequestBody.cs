using System.Diagnostics;

namespace FastCgi.AspNetCore.Streams;

internal enum BodyError : byte
{
    TooLarge,
    UnexpectedEnd,
}

/// <summary>The rate at which a body must arrive, after the grace period.</summary>
internal readonly record struct BodyRate(double BytesPerSecond, TimeSpan GracePeriod);

/// <summary>The request body. One thread appends STDIN and never waits; one, maybe another, reads it.</summary>
/// <param name="declaredLength">CONTENT_LENGTH, or <see langword="null"/> if the end of STDIN decides.</param>
/// <param name="createException">Creates the exception that reads throw; the number is the limit, if any.</param>
internal sealed class RequestBody(
    BodyMemory memory, long? declaredLength, Func<BodyError, long, Exception> createException)
{
    private readonly Pipe _pipe = new(new PipeOptions(
        memory, readerScheduler: PipeScheduler.ThreadPool, writerScheduler: PipeScheduler.Inline,
        pauseWriterThreshold: 0, resumeWriterThreshold: 0, minimumSegmentSize: BufferPool.SmallBlockSize,
            useSynchronizationContext: false));

    private long? _maxLength;
    private long _receivedLength;
    private long _consumedLength;
    private long _examinedLength;

    // The end of the data that the application may still hold, although it has advanced the read.
    private long _heldLength;

    private bool _isReading;

    // The result of the last read, until it is advanced.
    private ReadOnlySequence<byte>? _result;
    private bool _isReaderOver;
    private BodyDataRate? _rate;

    public long ReceivedLength => Volatile.Read(ref _receivedLength);

    /// <summary>
    /// The bytes that the reader has not examined, while more may arrive. Bytes that it has examined but not consumed
    /// do not count, because it waits for more (as in .NET's pipes, and so in Kestrel).
    /// </summary>
    public long UnreadLength
        => IsInputOver || IsReaderOver ? 0 : Math.Max(0, ReceivedLength - Volatile.Read(ref _examinedLength));

    public bool IsInputOver { get; private set; }
    public bool IsReaderOver => Volatile.Read(ref _isReaderOver);

    /// <summary>Whether a read is pending, so that its reader may resume at any time.</summary>
    public bool IsReading => Volatile.Read(ref _isReading);

    /// <summary>Requires the rate from now on, because a read is pending. The first rate counts.</summary>
    public void Time(BodyRate rate, long now)
    {
        if (_rate is null)
            Volatile.Write(ref _rate, new BodyDataRate(rate, now));
        _rate.OnWaiting();
    }

    /// <summary>Counts the time that the application has waited. Called every second.</summary>
    /// <returns>The rate, if the body arrives too slowly.</returns>
    public BodyRate? FindRateMissed(TimeProvider time, long now, bool isPaused)
        => !IsInputOver && Volatile.Read(ref _rate) is { } rate
            && rate.IsMissed(time, now, isPaused, IsReading, _receivedLength)
            ? rate.Required
            : null;

    /// <summary>Appends content of STDIN. Bytes beyond the declared length are dropped.</summary>
    public void Append(ReadOnlySpan<byte> content)
    {
        if (IsInputOver || content.IsEmpty)
            return;

        var left = declaredLength - _receivedLength;
        if (content.Length > left)
            content = content[..(int)left.Value];

        if (!IsReaderOver)
        {
            content.CopyTo(_pipe.Writer.GetSpan(content.Length));
            _pipe.Writer.Advance(content.Length);
        }

        Volatile.Write(ref _receivedLength, _receivedLength + content.Length);
        if (_receivedLength == declaredLength)
        {
            CompleteInput(exception: null);
            return;
        }

        // Without a threshold the pipe never waits, so this completes at once. It wakes the reader on the thread pool.
        var flush = _pipe.Writer.FlushAsync();
        if (flush.IsCompleted)
            flush.GetAwaiter().GetResult();
    }

    /// <summary>Called at the end of STDIN. If bytes are missing, the client has failed, so reads fail too.</summary>
    public void EndInput()
        => CompleteInput(_receivedLength < declaredLength ? createException(BodyError.UnexpectedEnd, 0) : null);

    /// <summary>Completes the body: pending and later reads end, with the exception, if any.</summary>
    public void CompleteInput(Exception? exception)
    {
        if (IsInputOver)
            return;

        IsInputOver = true;
        _pipe.Writer.Complete(exception);
    }

    public void BeginRead(long? maxLength)
    {
        // The pipe would throw too, but lose the pending read.
        if (IsReading)
            throw new InvalidOperationException("Reading is already in progress.");

        if (declaredLength > maxLength)
            throw createException(BodyError.TooLarge, maxLength.Value);
        _maxLength = maxLength;
    }

    public ValueTask<ReadResult> ReadAsync(CancellationToken cancellationToken)
        => NoteAsync(_pipe.Reader.ReadAsync(cancellationToken));

    public bool TryRead(out ReadResult result)
    {
        if (!_pipe.Reader.TryRead(out result))
            return false;

        Note(result);
        return true;
    }

    /// <summary>Advances the last read. A later check whether receiving is paused sees the new lengths.</summary>
    /// <param name="isRestHeld">Whether the application still holds the bytes that are not consumed.</param>
    public void AdvanceTo(SequencePosition consumed, SequencePosition examined, bool isRestHeld)
    {
        // The pipe checks too late: a position in a reused segment would return segments of other requests.
        if (_result is not { } result)
            throw new InvalidOperationException("No reading operation to complete.");

        if (IsReaderOver)
        {
            _result = null;
            return;
        }

        var consumedLength = GetReadLength(result, consumed);
        var examinedLength = GetReadLength(result, examined);
        _pipe.Reader.AdvanceTo(consumed, examined);
        _result = null;
        if (isRestHeld)
            _heldLength = _consumedLength + result.Length;
        Interlocked.Exchange(ref _examinedLength, Math.Max(_examinedLength, _consumedLength + examinedLength));
        _consumedLength += consumedLength;
    }

    public void CancelPendingRead() => _pipe.Reader.CancelPendingRead();

    /// <summary>Ends reading. The result of the last read stays intact, because the application may use it.</summary>
    public void CompleteReader()
    {
        if (_isReaderOver)
            return;

        Interlocked.Exchange(ref _isReaderOver, true);
        memory.IsLeased = IsReading || _result is { IsEmpty: false } || _heldLength > _consumedLength;
        _pipe.Reader.Complete();
    }

    private async ValueTask<ReadResult> NoteAsync(ValueTask<ReadResult> read)
    {
        if (read.IsCompletedSuccessfully)
            return Note(read.Result);

        Volatile.Write(ref _isReading, true);
        try
        {
            return Note(await read.ConfigureAwait(false));
        }
        finally
        {
            Volatile.Write(ref _isReading, false);
        }
    }

    private static long GetReadLength(in ReadOnlySequence<byte> result, SequencePosition position)
    {
        // CopyToAsync passes the default if its destination is closed.
        if (position.GetObject() is not { } wanted)
            return 0;

        var segment = result.Start.GetObject() as ReadOnlySequenceSegment<byte>;
        while (segment is not null && segment != wanted && segment != result.End.GetObject())
            segment = segment.Next;
        // The pipe would accept it, and write to memory that it has already returned.
        if (segment != wanted)
            throw new ArgumentOutOfRangeException(nameof(position), "The position is not one of the last read.");

        return result.Slice(0, position).Length;
    }

    private ReadResult Note(in ReadResult result)
    {
        _result = result.Buffer;
        if (_maxLength is { } limit && _consumedLength + result.Buffer.Length > limit)
        {
            _pipe.Reader.AdvanceTo(result.Buffer.Start, result.Buffer.Start);
            _result = null;
            throw createException(BodyError.TooLarge, limit);
        }

        return result;
    }
}

/// <summary>
/// Whether a body arrives fast enough, by Kestrel's rules (its TimeoutControl): the mean rate over the time that the
/// application has waited for it. An interval counts for one second at most: a longer one is this machine's fault.
/// </summary>
internal sealed class BodyDataRate(BodyRate required, long now)
{
    private static readonly TimeSpan s_longestInterval = TimeSpan.FromSeconds(1);

    private TimeSpan _waited;
    private long _lastSample = now;
    private bool _hasWaited;

    public BodyRate Required => required;

    public void OnWaiting() => Volatile.Write(ref _hasWaited, true);

    /// <summary>Counts the time since the last sample if the application has waited, then compares.</summary>
    public bool IsMissed(TimeProvider time, long now, bool isPaused, bool isWaiting, long receivedLength)
    {
        var elapsed = time.GetElapsedTime(_lastSample, now);
        _lastSample = now;
        if ((!isWaiting & !_hasWaited) | isPaused)
            return false;

        Volatile.Write(ref _hasWaited, false);
        _waited += elapsed < s_longestInterval ? elapsed : s_longestInterval;
        return _waited > required.GracePeriod && receivedLength / _waited.TotalSeconds < required.BytesPerSecond
            && !Debugger.IsAttached;
    }
}

/// <summary>The memory of one body. Blocks that the application may still read are not reused.</summary>
internal sealed class BodyMemory(BufferPool pool) : MemoryPool<byte>
{
    /// <summary>Whether the application holds a part. If so, the garbage collector frees all of it.</summary>
    public bool IsLeased { get; set; }
    public override int MaxBufferSize => int.MaxValue;

    public override IMemoryOwner<byte> Rent(int minBufferSize = -1) => new Owner(this, pool.RentBlock(minBufferSize));

    protected override void Dispose(bool disposing)
    {
    }

    private sealed class Owner(BodyMemory body, BufferBlock block) : IMemoryOwner<byte>
    {
        public Memory<byte> Memory => block.Memory;

        public void Dispose()
        {
            block.IsLeased = body.IsLeased;
            block.Return();
        }
    }
}
