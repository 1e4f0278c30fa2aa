using FsCheck;
using FsCheck.Fluent;

namespace FastCgi.AspNetCore.InMemoryTests.Fuzzing;

/// <summary>
/// Valid streams of any shape: requests with any ids, interleaved, padded, with bodies, aborted, on connections that are kept or not, with
/// questions of the web server between them, in any pieces. Each is answered as if it had come alone.
/// </summary>
[Trait("Category", "Fuzzing")]
public sealed class StreamPropertyTests(ITestOutputHelper output)
{
    private static readonly int[] s_ids = [1, 2, 3, 4, 5, 127, 128, 255, 256, 257, 32_768, 65_534, 65_535];
    private static readonly int[] s_pieces = [1, 7, 8, 127, 128, 1_000, 65_535];
    private static readonly int[] s_paddings = [0, 0, 1, 7, 8, 255];

    private TimeSpan _patience = Waiting.Patience;

    [Fact]
    public async Task Stream_ThatIsValid_EachRequestIsAnsweredAsIfAlone()
    {
        await using var server = await TestServer.StartAsync(RunAsync);
        var streams = FuzzSettings.Choose(300, 20_000);
        var config = Config.QuickThrowOnFailure.WithQuietOnSuccess(true).WithMaxTest(streams).WithStartSize(2).WithEndSize(40)
            .WithReplay(new FsCheck.Replay(new Rnd(FuzzSettings.Seed, 7), Microsoft.FSharp.Core.FSharpOption<int>.None));

        Prop.ForAll(Arb.From(Plans(), static plan => plan.Shrink()), plan => Check(server, plan)).Check(config);

        output.WriteLine($"{streams} streams, seed {FuzzSettings.Seed}.");
    }

    private void Check(TestServer server, StreamPlan plan)
    {
        try
        {
            Task.Run(() => CheckAsync(server, plan)).WaitAsync(_patience).GetAwaiter().GetResult();
        }
        catch
        {
            // What is simpler fails sooner, or not at all.
            _patience = TimeSpan.FromSeconds(2);
            throw;
        }
    }

    private static Task RunAsync(HttpContext context)
        => context.Request.Path.Value!.StartsWith("/AtOnce", StringComparison.Ordinal) ? Apps.Target(context) : Apps.BodyHash(context);

    private static Gen<StreamPlan> Plans() => Gen.Sized(size =>
        from rounds in Gen.Choose(1, 3)
        from requests in Gen.ArrayOf(Gen.ArrayOf(Requests(size), Math.Max(1, Math.Min(size / 3, s_ids.Length))), rounds)
        from mix in Gen.Choose(1, int.MaxValue)
        from cut in Gen.Choose(0, int.MaxValue)
        from questions in Gen.Choose(0, 3)
        select new StreamPlan(Repair(requests), mix, cut, questions));

    private static Gen<PlannedRequest> Requests(int size) =>
        from id in Gen.Elements(s_ids)
        from kind in Gen.Frequency((4, Gen.Constant(PlannedKind.WithBody)), (3, Gen.Constant(PlannedKind.AtOnce)), (3, Gen.Elements(Enum.GetValues<PlannedKind>())))
        from keep in Gen.Frequency((4, Gen.Constant(true)), (1, Gen.Constant(false)))
        from bodyLength in Gen.Frequency((2, Gen.Choose(0, size)), (4, Gen.Choose(0, size * 50)), (1, Gen.Choose(60_000, 70_000)))
        from hasLength in Gen.Elements(true, false)
        from piece in Gen.Elements(s_pieces)
        from padding in Gen.Elements(s_paddings)
        select new PlannedRequest(id, kind, keep, bodyLength, hasLength, bodyLength > 5_000 ? Math.Max(piece, 1_000) : piece, padding);

    /// <summary>
    /// Ids are used once in a round, and only the last round may close the connection. A body whose length is known ends before the end of
    /// STDIN, and so may the request, before it is aborted.
    /// </summary>
    private static PlannedRequest[][] Repair(PlannedRequest[][] rounds)
        => [.. rounds.Select((round, i) => round.DistinctBy(static request => request.Id)
            .Select(request => request with { KeepConnection = request.KeepConnection || i < rounds.Length - 1 || request.Kind == PlannedKind.UnknownRole, HasContentLength = request.HasContentLength && request.Kind != PlannedKind.Aborted }).ToArray())];

    private static async Task CheckAsync(TestServer server, StreamPlan plan)
    {
        var frontEnd = server.Connect();
        var questions = 0;
        for (var round = 0; round < plan.Rounds.Length; round++)
        {
            foreach (var piece in plan.ToPieces(round))
                frontEnd.Send(piece);
            questions += await CheckAnswersAsync(frontEnd, plan.Rounds[round], plan.Questions);
        }

        var closes = plan.Rounds[^1].Any(static request => !request.KeepConnection);
        if (closes)
            await frontEnd.Transport.WaitUntilAsync(() => frontEnd.Transport.IsClosed, "the connection to be closed");
        Assert.Equal(closes, frontEnd.Transport.IsClosed);
        Assert.False(frontEnd.Transport.IsReset);
        // What is left is the farewell of a connection that is closed although one of its requests would keep it.
        Assert.True(frontEnd.ReadAvailable().Count(static record => record is { Type: RecordBytes.GetValuesResult, Content.Length: 0 }) <= (closes ? 1 : 0));
        Assert.Equal(plan.Rounds.Length * plan.Questions, questions);
        frontEnd.Close();
        await Waiting.UntilAsync(() => server.Context.Buffers.RentedCount == 0, "all buffers to be returned");
    }

    private static async Task<int> CheckAnswersAsync(FrontEnd frontEnd, PlannedRequest[] requests, int questions)
    {
        var open = requests.ToDictionary(static request => request.Id);
        var stdouts = requests.ToDictionary(static request => request.Id, static _ => new List<byte>());
        var finished = new HashSet<int>();
        var answered = 0;
        while (open.Count > 0 || answered < questions)
        {
            var record = await frontEnd.ReadRecordAsync();
            switch (record.Type)
            {
                case RecordBytes.Stdout when record.Content.Length == 0:
                    Assert.True(finished.Add(record.Id));
                    break;
                case RecordBytes.Stdout:
                    Assert.DoesNotContain(record.Id, finished);
                    stdouts[record.Id].AddRange(record.Content);
                    break;
                case RecordBytes.EndRequest:
                    Assert.True(open.Remove(record.Id, out var request), "A request was ended that is not open.");
                    Check(request, [.. stdouts[record.Id]], finished.Contains(record.Id), record.Content);
                    break;
                default:
                    Assert.True(record.Id == 0 && record.Type is RecordBytes.GetValuesResult or RecordBytes.UnknownType, $"{record}");
                    answered += record is { Type: RecordBytes.GetValuesResult, Content.Length: 0 } ? 0 : 1;
                    break;
            }
        }

        return answered;
    }

    private static void Check(PlannedRequest request, byte[] stdout, bool isFinished, byte[] end)
    {
        Assert.Equal(request.Kind == PlannedKind.UnknownRole ? 3 : 0, end[4]);
        Assert.Equal(request.ExpectedAnswer is not null, isFinished);
        if (request.ExpectedAnswer is null)
            Assert.Empty(stdout);
        else
            Assert.Equal(request.ExpectedAnswer, FrontEnd.Parse(stdout, end).Text);
    }
}
