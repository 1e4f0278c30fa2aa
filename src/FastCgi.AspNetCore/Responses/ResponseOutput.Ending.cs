using System.IO.Pipelines;
using FastCgi.AspNetCore.Buffers;
using FastCgi.AspNetCore.Diagnostics;
using FastCgi.AspNetCore.Protocol;

namespace FastCgi.AspNetCore.Responses;

/// <summary>How a request leaves its connection.</summary>
internal enum ResponseEnd : byte
{
    /// <summary>It has left before: aborted, or its connection is gone.</summary>
    None,

    /// <summary>With the end of STDOUT and END_REQUEST.</summary>
    Complete,

    /// <summary>
    /// So too, and with a farewell behind it, because the connection is closed although the web server means to keep it. The close comes
    /// too late for a web server that sends the next request at once; but one that finds anything behind END_REQUEST does not use the
    /// connection again: here, an empty record of management.
    /// </summary>
    CompleteWithFarewell,

    /// <summary>Without the end of STDOUT: END_REQUEST tells of the failure, because other requests live on the connection.</summary>
    CutByEndRequest,

    /// <summary>
    /// Without the end of STDOUT, and the connection is closed: a close alone looks to nginx like the end of a response without
    /// Content-Length, but a record that only a web server sends (ABORT_REQUEST) is an error to all front-ends.
    /// </summary>
    CutByClose,

    /// <summary>The connection is reset, which the web server sees as an error.</summary>
    CutByReset,
}

/// <content>
/// The end of a response is one step under both locks: it is queued, and the request is taken out of the connection's table. So
/// there is no moment in which one is done and the other is not.
/// </content>
internal sealed partial class ResponseOutput
{
    /// <summary>Ends the response: what is staged, the end of STDOUT and END_REQUEST are queued. With the lock held.</summary>
    /// <param name="status">What END_REQUEST says.</param>
    public EndedResponse End(ProtocolStatus status)
    {
        _staging.EndLease();
        _errorWriter?.EndLine();
        return Leave(TakeRecords(status), isComplete: true);
    }

    /// <summary>
    /// Ends the response without the end of STDOUT, so that the client sees that the rest is missing. What was flushed is sent. With
    /// the lock held.
    /// </summary>
    public EndedResponse Cut()
    {
        _staging.EndLease();
        _errorWriter?.EndLine();
        var records = new BufferChain();
        if (_cork.IsHolding)
            records = TakeRecords(end: null);
        else
            ClearStaged();
        records.Append(_errorWriter?.Staging.Take(isEnd: true));
        return Leave(records, isComplete: false);
    }

    /// <summary>
    /// Completes when the outlet has taken everything, or the connection is gone. It was seen with the lock of the connection held then,
    /// so that the outlet has done with this object.
    /// </summary>
    public async ValueTask DrainAsync()
    {
        while (WaitForDrain() is { } drain)
            await drain;
    }

    /// <summary>From now on drops what is written, and what has not been sent of it. With the connection's lock held.</summary>
    public void Drop()
    {
        Volatile.Write(ref _isDropping, true);
        _wireGeneration++;
        _connection.Remove(this);
        OnAbandoned();
    }

    /// <summary>The request is over: nothing refers to this use of the object any more. With the lock held.</summary>
    public void Close()
    {
        if (Invariants.AreChecked)
            Invariants.Require((_isEnded || _isDropping) && !IsQueued && _wire.Head is null && _waiter is null, "A response is closed before its end.");

        Volatile.Write(ref _generation, _generation + 1);
        ClearStaged();
        BufferBlock.ReturnChain(_errorWriter?.Staging.Take(isEnd: false));
        _errorWriter?.End();
        _errorWriter = null;
    }

    private Task<FlushResult>? WaitForDrain()
    {
        using (_connection.EnterLock())
        {
            if (_wire.Head is null)
                return null;

            _waiterWantsAll = true;
            return (_waiter ??= new TaskCompletionSource<FlushResult>(TaskCreationOptions.RunContinuationsAsynchronously)).Task;
        }
    }

    private EndedResponse Leave(BufferChain records, bool isComplete)
    {
        using (_connection.EnterLock())
        {
            var end = response.OnEnding(isComplete);
            if (end == ResponseEnd.None)
            {
                BufferBlock.ReturnChain(records.Head);
                return new EndedResponse(_connection, end, null, IsDrained: _wire.Head is null);
            }

            AppendEnd(ref records, end);
            QueueLocked(records);
            _isEnded = true;
            _wireGeneration++;
            var next = _cork.SendsAtEnd || !isComplete ? _connection.Collect() : null;
            return new EndedResponse(_connection, end, next, IsDrained: _wire.Head is null);
        }
    }

    private void QueueLocked(BufferChain records)
    {
        if (records.Head is { } head)
            QueueLocked(head);
    }

    private void AppendEnd(ref BufferChain records, ResponseEnd end)
    {
        switch (end)
        {
            case ResponseEnd.CompleteWithFarewell:
                // Staging leaves room for it; were there none, the block's end would be found here, and not its neighbour's bytes.
                var tail = records.Tail!;
                RecordWriter.WriteHeader(tail.FreeSpan, RecordType.GetValuesResult, ProtocolConstants.NullRequestId, contentLength: 0);
                tail.End += ProtocolConstants.HeaderLength;
                break;

            case ResponseEnd.CutByEndRequest:
                var block = _connection.Pool.RentBlock(RecordWriter.FixedRecordLength);
                block.End = RecordWriter.FixedRecordLength;
                RecordWriter.WriteEndRequest(block.UsedSpan, _requestId, appStatus: 1, ProtocolStatus.RequestComplete);
                records.Append(block);
                break;

            case ResponseEnd.CutByClose:
                block = _connection.Pool.RentBlock(ProtocolConstants.HeaderLength);
                block.End = ProtocolConstants.HeaderLength;
                RecordWriter.WriteHeader(block.UsedSpan, RecordType.AbortRequest, _requestId, contentLength: 0);
                records.Append(block);
                break;
        }
    }

    /// <summary>A response whose end is queued: what is left to do without the locks.</summary>
    /// <param name="Connection">The outlet.</param>
    /// <param name="End">How it ended.</param>
    /// <param name="Chain">What to send now.</param>
    /// <param name="IsDrained">Whether the outlet has taken everything.</param>
    public readonly record struct EndedResponse(RecordOutput Connection, ResponseEnd End, BufferBlock? Chain, bool IsDrained)
    {
        /// <summary>Sends what was collected.</summary>
        public void Send()
        {
            if (Chain is not null)
                Connection.SendCollected(Chain);
        }
    }
}
