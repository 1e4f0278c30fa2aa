namespace FastCgi.AspNetCore.InMemoryTests.Simulation;

/// <summary>What a handler does with each request: it awaits, blocks and computes, for so many microseconds.</summary>
internal sealed record Handler(string Path, int Computes, int Blocks = 0, int Awaits = 0)
{
    /// <summary>How long the handler keeps the thread that calls it.</summary>
    public int KeepsThread => Awaits > 0 ? 0 : Computes + Blocks;
}

/// <summary>A loop without sockets: requests arrive when the simulation says so.</summary>
internal sealed class SimulatedLoop
{
    // Requests that take less run where they were received, because a wake-up would take about as long.
    private const int Short = 20;

    private readonly SimulatedMachine _machine;
    private readonly Queue<SimulatedConnection> _arrived = new();
    private readonly Queue<SimulatedConnection> _received = new();
    private SimulatedThread? _thread;
    private Handler? _called;
    private bool _isWaiting;
    private long _wokenAt;

    public SimulatedLoop(SimulatedMachine machine)
    {
        _machine = machine;
        Queue = new RunQueue(TryBegin);
    }

    public RunQueue Queue { get; }

    public bool IsStopping { get; set; }

    /// <summary>The requests that the loop must take from their sockets.</summary>
    public int Count => _arrived.Count + _received.Count;

    /// <summary>
    /// Whether what has arrived need not begin yet: the system is waking the thread that waits for it, or that thread
    /// runs a short request. No other request may keep a loop.
    /// </summary>
    public bool IsExcused => _machine.Now < _wokenAt || _called is { KeepsThread: < Short, Awaits: 0 };

    /// <summary>Whether the loop has no thread until a handler that is not short returns.</summary>
    public bool IsKept => _called is { KeepsThread: >= Short };

    /// <summary>How long the loop was kept although a processor was idle.</summary>
    public long KeptTime { get; set; }

    public bool Has(SimulatedConnection connection)
        => _arrived.Contains(connection) || _received.Contains(connection);

    public void Add(SimulatedConnection connection)
    {
        if (_isWaiting && _arrived.Count == 0)
            _wokenAt = _machine.Now + SimulatedMachine.WakeUp;
        _arrived.Enqueue(connection);
    }

    public void OnCalled(Handler handler) => _called = _machine.Current == _thread ? handler : _called;

    public void OnReturned() => _called = _machine.Current == _thread ? null : _called;

    private BatchResult TryBegin(BatchSource source)
    {
        (_thread, _called) = (_machine.Current, null);
        while (_received.Count == 0)
        {
            if (IsStopping)
                return BatchResult.Ended;
            if (source == BatchSource.Received || (source == BatchSource.Poll && _arrived.Count == 0))
                return BatchResult.None;

            if (_arrived.Count == 0)
            {
                _isWaiting = true;
                _machine.Park(() => _arrived.Count > 0 || IsStopping);
                _isWaiting = false;
            }

            while (_arrived.TryDequeue(out var arrived))
                _received.Enqueue(arrived);
        }

        var connection = _received.Dequeue();
        var ready = new ReadyRequests();
        connection.Receive(ref ready);
        Queue.Begin(ref ready, connection.Connection.Output, hasMore: _received.Count > 0);
        return BatchResult.Begun;
    }
}

/// <summary>A client and its connection: it sends the next request when the answer has come.</summary>
internal sealed class SimulatedConnection : ConnectionTransport
{
    // What the answer and the next request need to be delivered.
    private const long RoundTrip = 10;

    private readonly SimulatedMachine _machine;
    private readonly SimulatedLoop _loop;
    private readonly Func<Handler?> _choose;
    private readonly int _number;
    private readonly Dictionary<Handler, byte[]> _requests = [];
    private bool _isAnswered;
    private long _keptBefore;

    /// <param name="choose">Chooses the next request; <see langword="null"/> for no more.</param>
    public SimulatedConnection(
        int number, SimulatedMachine machine, SimulatedLoop loop, ConnectionManager manager, Func<Handler?> choose)
    {
        (_number, _machine, _loop, _choose) = (number, machine, loop, choose);
        Connection = new FastCgiConnection(manager, this);
        manager.TryAdd(Connection);
    }

    public FastCgiConnection Connection { get; }

    public SimulatedLoop Loop => _loop;

    public Handler? Handler { get; private set; }

    /// <summary>Whether the request waits to be called.</summary>
    public bool IsReady { get; set; }

    /// <summary>Whether the request must still be taken from its socket, which need not be now.</summary>
    public bool IsExcused => _loop.IsExcused && _loop.Has(this);

    /// <summary>How long the request was ready while a processor was idle.</summary>
    public long IdleWait { get; set; }

    /// <summary>How long the request has waited for one that kept the loop although a processor was idle.</summary>
    public long WaitedBehind => _loop.KeptTime - _keptBefore;

    public override string DescribePeer() => "a test";

    public override bool CanReset => true;

    public void SendNext()
    {
        Handler = _choose();
        if (Handler is null)
            return;

        _keptBefore = _loop.KeptTime;
        IsReady = true;
        IdleWait = 0;
        _isAnswered = false;
        _loop.Add(this);
    }

    public void Receive(ref ReadyRequests ready)
    {
        if (!_requests.TryGetValue(Handler!, out var request))
            _requests[Handler!] = request = RecordBytes.Get(1, $"{Handler!.Path}?{_number}");
        Connection.OnReceived(request, ref ready);
    }

    public async Task RunAsync()
    {
        var handler = Handler!;
        _loop.OnCalled(handler);
        if (handler.Awaits > 0)
        {
            _loop.OnReturned();
            var answer = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            _machine.After(handler.Awaits, answer.SetResult);
            await answer.Task;
        }

        if (handler.Blocks > 0)
            _machine.Sleep(handler.Blocks);
        _machine.Compute(handler.Computes);
        _isAnswered = true;
        if (handler.Awaits == 0)
            _loop.OnReturned();
    }

    public override bool Send(BufferBlock chain)
    {
        if (_isAnswered)
            _machine.After(RoundTrip, SendNext);
        _isAnswered = false;
        return true;
    }

    public override void Run(ref ReadyRequests ready) => throw new InvalidOperationException("No request waits.");

    public override void Close() => throw new InvalidOperationException("Nobody closes.");

    public override void ResumeReceiving()
    {
    }
}
