using System.Globalization;
using FastCgi.AspNetCore.Testing;
using Microsoft.AspNetCore.Http;
using Xunit;

namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>Several responses wait on a connection that takes nothing, and one of them ends before its turn.</summary>
public sealed class QueuedAbortTests
{
    private const int Responses = 5;

    // More than a turn is, and less than a response may hold.
    private const int BodyLength = 150_000;

    public static TheoryData<string, int> Cases
    {
        get
        {
            var cases = new TheoryData<string, int>();
            foreach (var how in new[] { "record", "abort", "exception" })
            {
                for (var which = 1; which <= Responses; which++)
                    cases.Add(how, which);
            }

            return cases;
        }
    }

    [Theory, MemberData(nameof(Cases))]
    public async Task Response_AbortedInTheQueue_OthersAreWholeAndEachEndsOnce(string how, int which)
    {
        // Whoever sets it runs the handlers to their ends, on this thread.
        var go = new TaskCompletionSource();
        var last = Waiting.Signal();
        var written = new CountdownEvent(Responses);
        await using var server = await TestServer.StartAsync(
            async context =>
            {
                var id = int.Parse(context.Request.Path.Value.AsSpan(1), CultureInfo.InvariantCulture);
                if (id > Responses)
                {
                    await last.Task;
                    return;
                }

                var body = CreateBody(id);
                await context.Response.Body.WriteAsync(body.AsMemory(0, BodyLength / 2));
                written.Signal();
                await go.Task;
                if (id != which)
                {
                    await context.Response.Body.WriteAsync(body.AsMemory(BodyLength / 2));
                    return;
                }

                if (how == "record")
                    await Apps.UntilAborted(context);
                else if (how == "abort")
                    context.Abort();
                else
                    throw new InvalidOperationException("on purpose");
            },
            static options => options.Limits.MaxResponseBufferSize = 2 * BodyLength);
        if (how == "exception")
            server.Logs.Expected.Add("ApplicationError");
        var frontEnd = server.Connect();
        frontEnd.Transport.HoldSends();
        // Continuations run where they are set off only without the context of the test.
        var context = SynchronizationContext.Current;
        SynchronizationContext.SetSynchronizationContext(null);
        // One more lives on, so that the connection is not reset for the last of them.
        frontEnd.Send(RecordBytes.Get(Responses + 1, $"/{Responses + 1}"));
        for (var id = 1; id <= Responses; id++)
            frontEnd.Send(RecordBytes.Get(id, $"/{id}"));
        Assert.True(written.IsSet, "A response waits for the connection.");

        // The first send is under way all the time; whatever else there is waits behind it.
        Assert.Equal(1, frontEnd.Transport.SendCount);
        go.SetResult();
        if (how == "record")
            frontEnd.Send(RecordBytes.Abort(which));
        SynchronizationContext.SetSynchronizationContext(context);
        Assert.Equal(1, frontEnd.Transport.SendCount);
        frontEnd.Transport.ReleaseSend(goesOn: false);

        await frontEnd.Transport.WaitUntilAsync(() => CountEnds(frontEnd) == Responses, "the end of each");
        AssertWellFormed(frontEnd.ReadAvailable(), which, appStatus: how == "record" ? 0 : 1);
        Assert.False(frontEnd.Transport.IsReset);
        last.SetResult();
        await frontEnd.ReadResponseAsync(Responses + 1);
        // The connection and the id serve on.
        frontEnd.Send(RecordBytes.Abort(which), RecordBytes.Record(RecordBytes.GetValues, 0, RecordBytes.Pairs(("FCGI_MPXS_CONNS", ""))));
        Assert.Single(frontEnd.ReadAvailable());
    }

    private static byte[] CreateBody(int id) => [.. Apps.Pattern(BodyLength).Select(b => (byte)(b ^ id))];

    private static int CountEnds(FrontEnd frontEnd)
    {
        var sent = frontEnd.Transport.Sent.AsSpan();
        var count = 0;
        while (sent.Length >= 8)
        {
            if (sent[1] == RecordBytes.EndRequest)
                count++;
            var length = 8 + (sent[4] << 8) + sent[5] + sent[6];
            sent = length <= sent.Length ? sent[length..] : [];
        }

        return count;
    }

    private static void AssertWellFormed(List<WireRecord> records, int which, int appStatus)
    {
        Assert.All(records, static record => Assert.Equal(1, record.Version));
        for (var id = 1; id <= Responses; id++)
        {
            var own = records.Where(record => record.Id == id).ToList();
            Assert.Equal(RecordBytes.EndRequest, own[^1].Type);
            Assert.Single(own, static record => record.Type == RecordBytes.EndRequest);
            Assert.All(own[..^1], static record => Assert.Equal(RecordBytes.Stdout, record.Type));
            var empty = own.FindIndex(static record => record.Type == RecordBytes.Stdout && record.Content.Length == 0);
            Assert.Equal(id == which ? appStatus : 0, own[^1].Content[3]);
            if (id == which)
            {
                Assert.Equal(-1, empty);
                continue;
            }

            Assert.Equal(own.Count - 2, empty);
            var stdout = own.SelectMany(static record => record.Type == RecordBytes.Stdout ? record.Content : []).ToArray();
            Assert.Equal(CreateBody(id), FrontEnd.Parse(stdout, own[^1].Content).Body);
        }
    }
}
