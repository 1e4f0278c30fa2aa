namespace FastCgi.AspNetCore.InMemoryTests.Fuzzing;

/// <summary>
/// Whole connections with damaged streams in any pieces: the server sends valid records, ends each request exactly
/// once, closes or resets the connection when it must, and leaks nothing.
/// </summary>
[Trait("Category", "Fuzzing")]
public sealed class ConnectionFuzzTests(ITestOutputHelper output)
{
    private const int MaxLength = 16_384;

    // A leaked buffer shows at the next check, together with the inputs since the last one.
    private const int LookInterval = 64;

    private readonly ConnectionModel _model = new();
    private readonly SentRecords _sent = new() { ReusesIds = true };
    private readonly StateFeedback _feedback = new(FuzzCorpus.All);

    public static TheoryData<string> PastFailures
        => [.. FuzzCorpus.PastFailures.Select(static failure => failure.Name)];

    /// <summary>Each at every place where it can be cut in two, byte by byte, and whole.</summary>
    [Theory]
    [MemberData(nameof(PastFailures))]
    public void Connection_PastFailure_BehavesAsTheModel(string name)
    {
        var bytes = FuzzCorpus.PastFailures.Single(failure => failure.Name == name).Bytes;
        var server = new FuzzServer(new NullApplication()) { LogsAll = true };
        for (var cut = 0; cut < Math.Min(bytes.Length, 2_000); cut++)
            AssertRight(server, bytes, cut, seed: null);
        AssertRight(server, bytes, cut: -1, seed: null);
        server.AssertNothingIsLeft();
    }

    [Fact]
    public void Connection_DamagedStreams_BehavesAsTheModel()
    {
        var executions = FuzzSettings.Choose(20_000, 1_000_000);
        var server = new FuzzServer(new NullApplication());
        var mutator = new Mutator(MaxLength);
        var watch = Stopwatch.StartNew();
        for (var i = 0; i < executions; i++)
        {
            var random = new FuzzRandom(FuzzSettings.Seed + (ulong)i);
            var input = mutator.Mutate(_feedback.Choose(ref random), _feedback.Choose(ref random), ref random);
            server.LogsAll = i % 16 == 0;
            AssertRight(server, input, cut: null, random.Next());
            _feedback.End(input, ref random);
            if (i % LookInterval == 0)
                server.AssertNothingIsLeft();
        }

        server.AssertNothingIsLeft();
        AssertBounded(server);
        output.WriteLine($"{executions} executions, {executions / watch.Elapsed.TotalSeconds:F0} a second, "
            + $"{_feedback.StateCount} states, {_feedback.InputCount} inputs, {CodeCoverage.Count} lines and branches "
            + $"counted, seed {FuzzSettings.Seed}.");
    }

    /// <summary>Damaged connections leave in the pools what one connection needs, not what a million do.</summary>
    private static void AssertBounded(FuzzServer server)
        => Assert.InRange(server.Context.Buffers.AllocatedBytes, 0, 4 * 1024 * 1024);

    private void AssertRight(FuzzServer server, ReadOnlySpan<byte> input, int? cut, ulong? seed)
    {
        var transport = server.Connect();
        var connection = transport.Connection;
        _model.Clear();
        try
        {
            Play(server, connection, input, cut, seed);
            if (FindDifference(transport) is { } difference)
                Assert.Fail(difference);
            FuzzServer.Close(connection);
        }
        catch (Exception failure)
        {
            throw new InvalidOperationException(
                $"Cut at {cut}, pieces {seed}, seed {FuzzSettings.Seed}: {Convert.ToHexString(input)}", failure);
        }
    }

    private void Play(FuzzServer server, FastCgiConnection connection, ReadOnlySpan<byte> input, int? cut, ulong? seed)
    {
        var random = new FuzzRandom(seed ?? 0);
        var mode = random.Next(3);
        for (var isFirst = true; !input.IsEmpty; isFirst = false)
        {
            var length = cut switch
            {
                null => random.NextPiece(input.Length, mode),
                -1 => 1,
                0 => input.Length,
                _ => isFirst ? cut.Value : input.Length,
            };
            var piece = input[..length];
            input = input[length..];
            server.Push(connection, piece);
            _model.Receive(piece);
            _feedback.Visit((ConnectionState.Get(connection) * 32) + (ulong)Math.Min(_model.LastType, 13));
        }
    }

    private string? FindDifference(MemoryTransport transport)
    {
        if (_sent.Parse(transport.Sent) is { } error)
            return error;
        if (_sent.IsCut)
            return "A record is cut.";

        _feedback.Visit(_sent.Shape ^ 0x5A5A_0000_0000);
        if ((transport.IsReset || _sent.IsAborted) != _model.IsReset)
            return $"The connection was {(transport.IsReset ? "" : "not ")}reset.";
        // What was on its way is lost with a reset.
        if (_model.IsReset)
            return null;
        if (_sent.IsHttp != _model.IsHttp)
            return "Who speaks HTTP was not told so, or somebody else was.";
        if (transport.IsClosed != (_model.IsClosed || _model.IsHttp))
            return $"The connection was {(transport.IsClosed ? "" : "not ")}closed.";
        if (transport.Connection.IsReceivePaused)
            return "Receiving is paused, and nothing ends that.";
        if (_sent.ValuesResults != _model.ValuesResults || _sent.UnknownTypes != _model.UnknownTypes)
            return $"{_sent.ValuesResults} and {_sent.UnknownTypes} management records were sent instead of "
                + $"{_model.ValuesResults} and {_model.UnknownTypes}.";

        foreach (var id in _sent.Answers.Keys.Union(_model.Ids))
        {
            var ends = _sent.Answers.GetValueOrDefault(id)?.Ends ?? 0;
            if (ends != _model.Ends[id])
                return $"Request {id} was ended {ends} times instead of {_model.Ends[id]} times.";
        }

        return null;
    }
}
