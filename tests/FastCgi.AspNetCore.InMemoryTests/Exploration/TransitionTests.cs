namespace FastCgi.AspNetCore.InMemoryTests.Exploration;

/// <summary>
/// Every pair of transitions of a request, in both orders and at the same moment: it ends once, its application is
/// called at most once, and its slot, its memory and its connection are released.
/// </summary>
public sealed class TransitionTests
{
    // Each round begins the second transition a little later than the first.
    private const int Rounds = 8;

    /// <summary>Where the request is when the transitions begin.</summary>
    public enum Start
    {
        WaitsForSlot,
        IsReady,
        IsExecuted,
        HasStarted,
    }

    public enum Transition
    {
        Execute,
        Return,
        ReleaseSlot,
        AbortRecord,
        AbortByApplication,
        ConnectionLost,
        ConnectionFails,
        QueueTimeout,
        ResponseCompletes,
    }

    public static TheoryData<Start, Transition> Cases
        => Rows.Cross(Enum.GetValues<Start>(), Enum.GetValues<Transition>());

    [Theory, MemberData(nameof(Cases))]
    public async Task Transitions_OfEveryPair_EndTheRequestOnce(Start start, Transition first)
    {
        await using var server = await TestServer.StartAsync(
            static context => Script.Of(context).RunAsync(context),
            static options =>
            {
                (options.Limits.MaxConcurrentRequests, options.Limits.RequestQueueLimit) = (1, 1);
                options.Limits.RequestQueueTimeout = TimeSpan.FromSeconds(3);
            });
        server.Logs.Expected.UnionWith(["ApplicationError", "ConnectionsNotClosedInTime", "StopTimedOut"]);
        using var pair = new TwoThreads();
        foreach (var second in Enum.GetValues<Transition>())
        {
            for (var round = 0; round < Rounds; round++)
            {
                var script = new Script(server, start);
                await script.BeginAsync();
                if (round < 2)
                {
                    script.Do(round == 0 ? first : second);
                    script.Do(round == 0 ? second : first);
                }
                else
                {
                    pair.Run(
                        () => script.Do(first),
                        () =>
                        {
                            Thread.SpinWait(round * 40);
                            script.Do(second);
                        });
                }

                await script.EndAsync($"{start}: {first}, {second}");
            }
        }
    }

    /// <summary>One request with its connection, and another one that has the only slot before it.</summary>
    private sealed class Script(TestServer server, Start start)
    {
        private static readonly ConcurrentDictionary<string, Script> s_scripts = new();
        private static int s_count;

        private readonly string _path = $"/{Interlocked.Increment(ref s_count)}";
        private readonly TaskCompletionSource _begun = Waiting.Signal();
        private readonly TaskCompletionSource _go = Waiting.Signal();
        private readonly TaskCompletionSource _holderGo = Waiting.Signal();
        private FrontEnd? _holder;
        private FrontEnd _frontEnd = null!;
        private FastCgiRequest _request = null!;
        private HttpContext? _context;
        private int _isExecuted;
        private int _calls;

        public static Script Of(HttpContext context) => s_scripts[context.Request.Path.Value!.Split('-')[0]];

        public async Task BeginAsync()
        {
            s_scripts[_path] = this;
            if (start == Start.WaitsForSlot)
            {
                _holder = server.Connect();
                _holder.Send(RecordBytes.Get(uri: $"{_path}-holder"));
            }

            _frontEnd = server.Connect();
            var ready = _frontEnd.Receive(RecordBytes.PostHead(10, uri: _path));
            if (start == Start.WaitsForSlot)
            {
                Assert.True(ready.IsEmpty);
                _request = (FastCgiRequest)Assert.Single(_frontEnd.Transport.Connection.ListRequests());
                return;
            }

            _request = (FastCgiRequest)ready.RemoveFirst();
            if (start == Start.IsReady)
                return;

            Do(Transition.Execute);
            await _begun.Task;
            if (start == Start.HasStarted)
                await _context!.Response.Body.FlushAsync();
        }

        public void Do(Transition transition)
        {
            switch (transition)
            {
                case Transition.Execute:
                    // If it waits for a slot, no thread has it.
                    if (start != Start.WaitsForSlot && Interlocked.Exchange(ref _isExecuted, 1) == 0)
                        _request.Execute();
                    break;
                case Transition.Return:
                    _go.TrySetResult();
                    break;
                case Transition.ReleaseSlot:
                    _holderGo.TrySetResult();
                    break;
                case Transition.AbortRecord:
                    Run(_frontEnd.Receive(RecordBytes.Abort()));
                    break;
                case Transition.AbortByApplication:
                    _request.Abort();
                    break;
                case Transition.ConnectionLost:
                    _frontEnd.Close();
                    break;
                case Transition.ConnectionFails:
                    _frontEnd.Transport.Connection.Fail();
                    break;
                case Transition.QueueTimeout:
                    server.Clock.Advance(TimeSpan.FromSeconds(1.5));
                    server.Clock.Advance(TimeSpan.FromSeconds(1.5));
                    break;
                case Transition.ResponseCompletes:
                    if (Volatile.Read(ref _context) is { } context)
                        _ = Record.ExceptionAsync(() => context.Response.CompleteAsync());
                    break;
            }
        }

        /// <summary>The thread that dequeues the request executes it; then the peer closes.</summary>
        public async Task EndAsync(string what)
        {
            _holderGo.TrySetResult();
            _go.TrySetResult();
            Do(Transition.Execute);
            await Waiting.UntilAsync(() => _request.HasReturned && _request.IsDetached, $"the end of {what}");
            _frontEnd.Close();
            _holder?.Close();
            await Waiting.UntilAsync(
                () => server.Context.Admission.TakenCount == (0, 0)
                    && TestServer.CountUnfinished(_frontEnd.Transport.Connection) == 0,
                $"the release of what {what} had");
            Assert.InRange(_calls, 0, 1);
            Assert.Equal(0, server.Context.Admission.QueuedCount);
            Assert.True(_frontEnd.Transport.CountEnds().GetValueOrDefault(1) <= 1, what);
            s_scripts.Remove(_path, out _);
        }

        public async Task RunAsync(HttpContext context)
        {
            if (context.Request.Path.Value!.EndsWith("-holder", StringComparison.Ordinal))
            {
                await _holderGo.Task;
                return;
            }

            Interlocked.Increment(ref _calls);
            Volatile.Write(ref _context, context);
            _begun.TrySetResult();
            await _go.Task;
        }

        private void Run(ReadyRequests ready) => _frontEnd.Transport.Run(ref ready);
    }
}
