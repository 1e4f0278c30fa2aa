namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>
/// Thousands of random steps of requests that begin, end, are aborted, wait for too long and lose their connection, beside a model of a few
/// lines: after each step the same requests run and wait, so that no place is ever lost or given twice.
/// </summary>
public sealed class PlaceModelTests
{
    private const int Steps = 400;

    [Theory]
    [InlineData(1, 1, 0, 1)]
    [InlineData(2, 1, 1, 1)]
    [InlineData(3, 2, 3, 1)]
    [InlineData(4, 3, 5, 2)]
    [InlineData(5, 4, 0, 3)]
    public async Task Places_ByAModel_AreThoseOfTheServer(int seed, int limit, int queue, int reserved)
    {
        var random = new Random(seed);
        var running = new ConcurrentDictionary<int, TaskCompletionSource>();
        await using var server = await TestServer.StartAsync(
            async context =>
            {
                var number = int.Parse(context.Request.Path.Value![(context.Request.Path.Value!.LastIndexOf('/') + 1)..], CultureInfo.InvariantCulture);
                var go = running[number] = Waiting.Signal();
                await go.Task;
                running.TryRemove(number, out _);
            },
            options =>
            {
                options.ReservedPaths.Add("/health");
                (options.Limits.MaxConcurrentRequests, options.Limits.RequestQueueLimit, options.Limits.MaxReservedRequests) = (limit, queue, reserved);
                options.Limits.RequestQueueTimeout = TimeSpan.FromSeconds(5);
            });
        var model = new Model(limit, queue, reserved);
        var frontEnds = new List<(FrontEnd FrontEnd, Dictionary<int, int> Ids)>();

        using var end = new EndOfAll(running);
        for (var step = 1; step <= Steps; step++)
        {
            var action = random.Next(20);
            if (action < 9 || frontEnds.Count == 0)
            {
                if (frontEnds.Count == 0 || random.Next(3) == 0)
                    frontEnds.Add((server.Connect(), []));
                var (frontEnd, ids) = frontEnds[random.Next(frontEnds.Count)];
                var id = step % 60_000 + 1;
                var isReserved = random.Next(4) == 0;
                ids[step] = id;
                model.Begin(step, isReserved);
                frontEnd.Send(RecordBytes.Get(id, isReserved ? $"/health/{step}" : $"/{step}"));
            }
            else if (action < 14)
            {
                if (model.Running.Count > 0)
                {
                    var ended = model.Running.Keys.ElementAt(random.Next(model.Running.Count));
                    await Waiting.UntilAsync(() => running.ContainsKey(ended), "the request to run");
                    model.End(ended);
                    running[ended].SetResult();
                }
            }
            else if (action < 17)
            {
                var (frontEnd, ids) = frontEnds[random.Next(frontEnds.Count)];
                if (ids.Count > 0)
                {
                    var (number, id) = ids.ElementAt(random.Next(ids.Count));
                    ids.Remove(number);
                    model.Leave(number);
                    frontEnd.Send(RecordBytes.Abort(id));
                }
            }
            else if (action < 19)
            {
                var which = random.Next(frontEnds.Count);
                foreach (var number in frontEnds[which].Ids.Keys)
                    model.Leave(number);
                frontEnds[which].FrontEnd.Close();
                frontEnds.RemoveAt(which);
            }
            else
            {
                model.Advance(1);
                server.Clock.Advance(TimeSpan.FromSeconds(1));
            }

            await Waiting.UntilAsync(
                () => running.Count == model.Running.Count && server.Context.Admission.QueuedCount == model.Waiting.Count && server.Context.Admission.TakenCount == model.Taken,
                $"step {step} of seed {seed}");
            Assert.All(model.Running.Keys, number => Assert.True(running.ContainsKey(number), $"{number} does not run."));
        }

        while (model.Running.Count > 0)
        {
            var ended = model.Running.Keys.First();
            await Waiting.UntilAsync(() => running.ContainsKey(ended), "the request to run");
            model.End(ended);
            running[ended].SetResult();
        }

        await Waiting.UntilAsync(() => server.Context.Admission.TakenCount == (0, 0), "all places to be free");
        Assert.Equal(0, server.Context.Admission.QueuedCount);
    }

    /// <summary>Lets all handlers return, however the test ends.</summary>
    private sealed class EndOfAll(ConcurrentDictionary<int, TaskCompletionSource> running) : IDisposable
    {
        public void Dispose()
        {
            foreach (var request in running.Values)
                request.TrySetResult();
        }
    }

    private sealed class Model(int limit, int queue, int reserved)
    {
        private const int Patience = 5;

        private int _now;

        public Dictionary<int, bool> Running { get; } = [];

        public List<(int Number, int Since, bool IsReserved)> Waiting { get; } = [];

        public (long Ordinary, int Reserved) Taken => (Running.Count(static request => !request.Value), Running.Count(static request => request.Value));

        public void Begin(int number, bool isReserved)
        {
            if (Taken.Ordinary < limit)
                Running.Add(number, false);
            else if (isReserved && Taken.Reserved < reserved)
                Running.Add(number, true);
            else if (Waiting.Count < queue)
                Waiting.Add((number, _now, isReserved));
        }

        public void End(int number)
        {
            Running.Remove(number, out var hadReserved);
            var next = hadReserved ? Waiting.FindIndex(static waiting => waiting.IsReserved) : Math.Min(Waiting.Count, 1) - 1;
            if (next < 0)
                return;

            Running.Add(Waiting[next].Number, hadReserved);
            Waiting.RemoveAt(next);
        }

        /// <summary>Whoever runs keeps its place until its application returns.</summary>
        public void Leave(int number) => Waiting.RemoveAll(waiting => waiting.Number == number);

        public void Advance(int seconds)
        {
            _now += seconds;
            Waiting.RemoveAll(waiting => _now - waiting.Since >= Patience);
        }
    }
}
