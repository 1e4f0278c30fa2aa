namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>The engine of the tests: keeps everything sent, as if the peer had received it, and can be slow.</summary>
internal sealed class MemoryTransport : ConnectionTransport
{
    private readonly Lock _lock = new();
    private readonly List<byte> _sent = [];
    private TaskCompletionSource _change = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private bool _holdsSends;
    private bool _hasPendingSend;
    private bool _isLost;
    private int _senderId;
    private int _capacity = int.MaxValue;

    public MemoryTransport(ConnectionManager connections)
    {
        // Set before the manager knows the connection, because the clock of another thread may close it at once.
        Connection = new FastCgiConnection(connections, this);
        Assert.True(connections.TryAdd(Connection), "The connection was rejected.");
    }

    public override string DescribePeer() => "a test";

    public override bool CanReset => HasReset;

    /// <summary>Whether the peer notices a reset, as with TCP.</summary>
    public bool HasReset { get; set; } = true;

    /// <summary>The number of sent bytes that the system still holds because the peer has not received them.</summary>
    public long Undelivered { get; set; }

    public override long? UndeliveredLength => Undelivered;

    /// <summary>The connection to notify when a held send ends.</summary>
    public FastCgiConnection Connection { get; }

    /// <summary>Called with "Send" or "Close" before each, so that a test can make it fail.</summary>
    public Action<string>? Calling { get; set; }

    /// <summary>Whether a connection that was reset ends only when the test closes it: its thread is late.</summary>
    public bool HoldsReset { get; set; }

    /// <summary>What the connection has decided each time it was to be closed.</summary>
    public List<CloseAction> Decisions { get; } = [];

    /// <summary>The peer's reaction as soon as it has received a send.</summary>
    public Action? Received { get; set; }

    public int SendCount { get; private set; }

    /// <summary>Whether the server has ended the connection gracefully.</summary>
    public bool IsClosed { get; private set; }

    /// <summary>Whether the server has reset the connection.</summary>
    public bool IsReset { get; private set; }

    /// <summary>How often receiving was resumed.</summary>
    public int ResumeCount { get; private set; }

    private bool IsHeld
    {
        get
        {
            lock (_lock)
                return _hasPendingSend;
        }
    }

    public byte[] Sent
    {
        get
        {
            lock (_lock)
                return [.. _sent];
        }
    }

    /// <summary>
    /// A part of what was sent so far, shorter if there is less. Copying a response of many records once per record
    /// would take seconds.
    /// </summary>
    public byte[] CopySent(int position, int length)
    {
        lock (_lock)
            return position > _sent.Count ? [] : [.. CollectionsMarshal.AsSpan(_sent).Slice(
                position, Math.Min(length, _sent.Count - position))];
    }

    /// <summary>How often END_REQUEST was sent so far for each id.</summary>
    public Dictionary<int, int> CountEnds()
    {
        var ends = new Dictionary<int, int>();
        for (var at = 0; CopySent(at, 8) is { Length: 8 } header; at += 8 + (header[4] << 8) + header[5] + header[6])
        {
            var id = (header[2] << 8) + header[3];
            if (header[1] == RecordBytes.EndRequest && CopySent(at, 16).Length == 16)
                ends[id] = ends.GetValueOrDefault(id) + 1;
        }

        return ends;
    }

    public override bool Send(BufferBlock chain)
    {
        bool isComplete;
        Volatile.Write(ref _senderId, Environment.CurrentManagedThreadId);
        Calling?.Invoke(nameof(Send));
        lock (_lock)
        {
            SendCount++;
            if (_isLost)
                return true;
            for (var block = chain; block is not null; block = block.Next)
                _sent.AddRange(block.UsedSpan);
            _hasPendingSend = _holdsSends || _sent.Count > _capacity;
            Changed();
            isComplete = !_hasPendingSend;
        }

        Received?.Invoke();
        return isComplete;
    }

    /// <summary>
    /// As in the real engines, the connection decides how it ends, and a receive in progress ends on its own thread.
    /// </summary>
    public override void Close()
    {
        Calling?.Invoke(nameof(Close));
        var decision = Connection.DecideClose();
        Change(() => Decisions.Add(decision));
        switch (decision)
        {
            case CloseAction.Close or CloseAction.HalfClose or CloseAction.CheckInput:
                Change(() => IsClosed = true);
                break;
            case CloseAction.Reset:
                Reset();
                break;
        }
    }

    private void Reset()
    {
        Change(() => IsReset = true);
        if (HoldsReset)
            return;

        ThreadPool.QueueUserWorkItem(
            static connection
                => connection.OnClosed(new ConnectionAbortedException("The connection was closed by the server.")),
            Connection,
            preferLocal: false);
    }

    public override void ResumeReceiving() => Change(() => ResumeCount++);

    /// <summary>
    /// Requests run on the thread pool, as on the pipe engine. Reports run at once, so that a test need not wait for
    /// them.
    /// </summary>
    public override void Run(ref ReadyRequests ready)
    {
        while (!ready.IsEmpty)
            ThreadPool.QueueUserWorkItem(
                static request => ((FastCgiRequest)request).Execute(), ready.RemoveFirst(), preferLocal: false);
        foreach (var report in ready.TakeReports())
            report();
    }

    /// <summary>From now on, a send does not complete until <see cref="ReleaseSend"/>.</summary>
    public void HoldSends() => Change(() => _holdsSends = true);

    /// <summary>
    /// The peer receives this many bytes, and no more until <see cref="TakeRest"/> or <see cref="Lose"/>.
    /// </summary>
    public void TakeOnly(int length) => Change(() => _capacity = length);

    /// <summary>The peer receives everything again.</summary>
    public void TakeRest()
    {
        Change(() => _capacity = int.MaxValue);
        Connection.Output.OnSendProgress();
        ReleaseSend(continues: false);
    }

    /// <summary>As in the epoll engine: only the rest of a partly taken record is still sent.</summary>
    public override void CutSend()
    {
        lock (_lock)
        {
            if (_sent.Count <= _capacity)
                return;
            var end = 0;
            while (end < _capacity)
                end += 8 + (_sent[end + 4] << 8) + _sent[end + 5] + _sent[end + 6];
            _sent.RemoveRange(end, _sent.Count - end);
            _capacity = int.MaxValue;
        }

        ReleaseSend(continues: false);
    }

    /// <summary>The connection breaks at the point where the peer stopped receiving; the rest is lost.</summary>
    public void Lose()
    {
        Change(() =>
        {
            _isLost = true;
            if (_sent.Count > _capacity)
                _sent.RemoveRange(_capacity, _sent.Count - _capacity);
        });
        Connection.OnClosed(new ConnectionResetException("The connection was lost."));
        ReleaseSend(continues: false);
    }

    /// <summary>Completes the held send.</summary>
    public void ReleaseSend(bool continues = true)
    {
        lock (_lock)
        {
            _holdsSends = continues;
            if (!_hasPendingSend)
                return;
            _hasPendingSend = false;
        }

        Connection.Output.OnSent();
    }

    public async Task WaitUntilAsync(Func<bool> condition, string what)
    {
        while (true)
        {
            Task change;
            lock (_lock)
            {
                change = _change.Task;
                if (condition())
                    break;
            }

            await change.Within(what);
        }

        Settle();
    }

    /// <summary>
    /// Waits until no thread is between a send and its next step, so that a test does not depend on timing. Otherwise,
    /// that thread might send what the test makes the server send, and a send that seems to be in progress would be
    /// overdue when the clock advances. A held send stays held.
    /// </summary>
    public void Settle()
    {
        if (IsSettled())
            return;
        SpinWait.SpinUntil(IsSettled, Waiting.Patience);
    }

    private bool IsSettled()
        => Connection is null || Volatile.Read(ref GuardedState.Of(Connection).Output.Sending) is null || IsHeld
            || Volatile.Read(ref _senderId) == Environment.CurrentManagedThreadId;

    private void Change(Action change)
    {
        lock (_lock)
        {
            change();
            Changed();
        }
    }

    private void Changed()
    {
        var change = _change;
        _change = new(TaskCreationOptions.RunContinuationsAsynchronously);
        change.SetResult();
    }
}
