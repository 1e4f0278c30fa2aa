namespace FastCgi.AspNetCore.InMemoryTests.Fuzzing;

/// <summary>
/// Damaged streams, and applications that misbehave, together: no request is ended twice or without having begun, every context is
/// disposed of, every buffer is given back, and a request beside them on another connection is answered as if nothing were wrong.
/// </summary>
[Trait("Category", "Fuzzing")]
public sealed class MisbehavingFuzzTests(ITestOutputHelper output)
{
    private const int MaxLength = 16_384;

    private static readonly byte[] s_neighbourBody = Apps.Pattern(300);

    private readonly MisbehavingApplication _application = new();
    private readonly SentRecordReader _sent = new();
    private readonly SentRecordReader _sentToNeighbour = new();
    private readonly int[] _begun = new int[65_536];
    private readonly byte[] _neighbour = RecordBytes.Post(7, "/neighbour", s_neighbourBody);

    [Fact]
    public void Connection_DamagedStreamsAndApplicationsThatMisbehave_OthersAreUnharmed()
    {
        var executions = FuzzSettings.Choose(4_000, 100_000);
        // What the application throws is logged as what it is; all else at Error is the server's.
        var server = new FuzzServer(_application, "ApplicationError", "CancellationCallbackFailed", "RequestEndFailed");
        var feedback = new StateFeedback(FuzzCorpus.All);
        var mutator = new Mutator(MaxLength);
        var watch = Stopwatch.StartNew();
        for (var i = 0; i < executions; i++)
        {
            var random = new FuzzRandom(FuzzSettings.Seed + (ulong)i);
            var input = mutator.Mutate(feedback.Choose(ref random), feedback.Choose(ref random), ref random).ToArray();
            _application.Seed = random.Next();
            server.LogsAll = i % 16 == 0;
            try
            {
                Execute(server, input, random, feedback);
            }
            catch (Exception failure)
            {
                throw new InvalidOperationException($"Seed {FuzzSettings.Seed}, execution {i}: {Convert.ToHexString(input)}", failure);
            }

            feedback.End(input, ref random);
        }

        Assert.InRange(server.Context.Buffers.AllocatedBytes, 0, 16 * 1024 * 1024);
        output.WriteLine($"{executions} executions, {executions / watch.Elapsed.TotalSeconds:F0} a second, {feedback.StateCount} states, {feedback.InputCount} inputs, {CodeCoverage.Count} lines and branches counted, seed {FuzzSettings.Seed}.");
    }

    private void Execute(FuzzServer server, byte[] input, FuzzRandom random, StateFeedback feedback)
    {
        var (neighbour, neighbourTransport) = server.Connect();
        var (connection, transport) = server.Connect();
        server.Push(neighbour, _neighbour.AsSpan(0, _neighbour.Length / 2));

        var mode = random.Next(3);
        for (ReadOnlySpan<byte> rest = input; !rest.IsEmpty;)
        {
            var piece = rest[..random.NextPiece(rest.Length, mode)];
            rest = rest[piece.Length..];
            server.Push(connection, piece);
            feedback.Visit(ConnectionState.Get(connection));
            if (connection.IsReceivePaused)
                break;
        }

        FuzzServer.Close(connection);
        server.Push(neighbour, _neighbour.AsSpan(_neighbour.Length / 2));
        AssertAnswered(neighbourTransport);
        FuzzServer.Close(neighbour);
        Assert.True(SpinWait.SpinUntil(() => _application.Active == 0, Waiting.Patience), $"{_application.Active} contexts were not disposed of.");
        server.AssertNothingIsLeft();
        AssertEndedOnce(input, transport);
        feedback.Visit(_sent.Shape ^ 0x5A5A_0000_0000);
    }

    private void AssertAnswered(FuzzTransport transport)
    {
        var isThere = SpinWait.SpinUntil(() => transport.SentLength > 16 && transport.GetSent()[^16..].StartsWith((byte[])[1, RecordBytes.EndRequest, 0, 7]), Waiting.Patience);
        Assert.True(isThere, "The neighbour was not answered.");
        Assert.Null(_sentToNeighbour.Read(transport.GetSent()));
        Assert.Equal(1, _sentToNeighbour.Ends[7]);
        var text = transport.GetSent();
        Assert.True(text.IndexOf("Status: 200"u8) > 0 && text.IndexOf("300"u8) > 0, "The neighbour was answered wrongly.");
    }

    private void AssertEndedOnce(byte[] input, FuzzTransport transport)
    {
        Array.Clear(_begun);
        for (var at = 0; at + 16 <= input.Length && input[at] == 1;)
        {
            if (input[at + 1] == RecordBytes.BeginRequest)
                _begun[BinaryPrimitives.ReadUInt16BigEndian(input.AsSpan(at + 2))]++;
            at += 8 + BinaryPrimitives.ReadUInt16BigEndian(input.AsSpan(at + 4)) + input[at + 6];
        }

        Assert.Null(_sent.Read(transport.GetSent()));
        Assert.All(_sent.Ids, id => Assert.True(_sent.Ends[id] <= _begun[id], $"Request {id} was begun {_begun[id]} times and ended {_sent.Ends[id]} times."));
    }
}
