using FastCgi.AspNetCore.Buffers;
using FastCgi.AspNetCore.Protocol;

namespace FastCgi.AspNetCore.Responses;

/// <summary>
/// The one outlet of a connection, shared by its requests. It takes whole records only, gives the responses that wait turns of
/// one large record, and keeps one send under way, which carries all that has come up meanwhile. Any thread may use it.
/// </summary>
internal sealed class RecordOutput(BufferPool pool)
{
    // What one send carries at most: enough for the system to work on, little enough to hold for a peer that is slow.
    private const int MaxSendLength = 4 * BufferPool.LargeBlockSize;

    private OutputTransport? _transport;
    private BufferChain _control;
    private ResponseOutput? _firstReady;
    private ResponseOutput? _lastReady;
    private BufferBlock? _sending;
    private bool _isSending;
    private bool _isClosed;
    private bool _closesWhenSent;
    private int _controlLength;

    /// <summary>The lock of the connection: of this outlet and of the table of requests.</summary>
    public Lock Lock { get; } = new();

    /// <summary>Where buffers come from.</summary>
    public BufferPool Pool { get; } = pool;

    /// <summary>Whether the connection is gone, so that what is written is dropped.</summary>
    public bool IsClosed => Volatile.Read(ref _isClosed);

    /// <summary>The bytes of records that belong to no response and wait to be sent. Under the lock.</summary>
    public int ControlLength => _controlLength;

    /// <summary>Connects the outlet, before anything is written.</summary>
    public void Attach(OutputTransport transport) => _transport = transport;

    /// <summary>Queues a record that belongs to no response: of management, or an END_REQUEST alone. Call it under the lock.</summary>
    public Span<byte> WriteControl(int length)
    {
        if (_control.Tail is null || _control.Tail.FreeLength < length)
            _control.Append(Pool.RentBlock(length));

        var tail = _control.Tail!;
        tail.End += length;
        _controlLength += length;
        return tail.UsedSpan[^length..];
    }

    /// <summary>Queues an END_REQUEST for a request that has no response. Call it under the lock.</summary>
    public void WriteEndRequest(ushort requestId, uint appStatus, ProtocolStatus protocolStatus)
        => RecordWriter.WriteEndRequest(WriteControl(RecordWriter.FixedRecordLength), requestId, appStatus, protocolStatus);

    /// <summary>Lets the transport close the connection as soon as all is sent. Call it under the lock.</summary>
    public void CloseWhenSent() => _closesWhenSent = true;

    /// <summary>Puts a response that has something to send in the line. Call it under the lock.</summary>
    public void Enqueue(ResponseOutput response)
    {
        if (response.IsQueued || _isClosed)
            return;

        response.IsQueued = true;
        if (_lastReady is null)
            _firstReady = response;
        else
            _lastReady.NextReady = response;
        _lastReady = response;
    }

    /// <summary>Takes a response out of the line. Call it under the lock.</summary>
    public void Remove(ResponseOutput response)
    {
        if (!response.IsQueued)
            return;

        if (_firstReady == response)
        {
            Dequeue(response);
            return;
        }

        var before = _firstReady!;
        while (before.NextReady != response)
            before = before.NextReady!;

        before.NextReady = response.NextReady;
        if (_lastReady == response)
            _lastReady = before;
        response.NextReady = null;
        response.IsQueued = false;
    }

    /// <summary>Takes note of a response whose flush is to be held back.</summary>
    /// <returns>Whether anybody will see to it that it is sent before long.</returns>
    public bool TryHold(ResponseOutput response) => _transport!.TryHold(response);

    /// <summary>
    /// Sends what there is, unless a send is under way, which will go on with it, or this thread is going to flush anyway
    /// (<see cref="SendDeferral"/>).
    /// </summary>
    public void Flush()
    {
        if (!SendDeferral.IsHolding(this))
            FlushNow();
    }

    /// <summary>Sends what there is, unless a send is under way, which will go on with it.</summary>
    public void FlushNow()
    {
        while (TryCollect(out var chain))
        {
            if (!_transport!.Send(chain))
                return;

            TakeBack();
        }
    }

    /// <summary>A send that did not end at once has ended.</summary>
    public void OnSent()
    {
        TakeBack();
        FlushNow();
    }

    /// <summary>The connection is gone: drops what waits and lets those that wait for it go on.</summary>
    public void Abandon()
    {
        lock (Lock)
        {
            if (_isClosed)
                return;

            _isClosed = true;
            BufferBlock.ReturnChain(_control.Clear());
            while (_firstReady is { } response)
            {
                Dequeue(response);
                response.OnAbandoned();
            }
        }
    }

    private bool TryCollect(out BufferBlock chain)
    {
        chain = null!;
        var closes = false;
        lock (Lock)
        {
            if (_isSending || _isClosed)
                return false;

            var batch = new BufferChain();
            batch.Append(_control.Clear());
            _controlLength = 0;
            while (_firstReady is { } response && batch.Length < MaxSendLength)
            {
                Dequeue(response);
                if (!response.TakeTurn(ref batch))
                    Enqueue(response);
            }

            if (batch.Head is not null)
            {
                chain = batch.Head;
                _sending = chain;
                _isSending = true;
                return true;
            }

            closes = _closesWhenSent;
            _closesWhenSent = false;
        }

        if (closes)
            _transport!.Close();
        return false;
    }

    private void TakeBack()
    {
        BufferBlock? sent;
        lock (Lock)
        {
            sent = _sending;
            _sending = null;
            _isSending = false;
        }

        BufferBlock.ReturnChain(sent);
    }

    private void Dequeue(ResponseOutput response)
    {
        _firstReady = response.NextReady;
        if (_firstReady is null)
            _lastReady = null;
        response.NextReady = null;
        response.IsQueued = false;
    }
}
