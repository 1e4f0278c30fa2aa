namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>
/// A started response is complete, or every web server sees that it failed. Over TCP, the connection is reset. Where a
/// reset looks like a close, or crashes the web server, bytes that are no record follow the record that is being sent.
/// </summary>
public sealed class CutTests
{
    private const int Taken = 100_000;
    private static readonly TimeSpan s_limit = TimeSpan.FromSeconds(10);

    public enum Reason
    {
        Exception,
        Abort,
        ShutdownTimeout,
        SendTimeout,
        ProtocolError,
        Failure,
    }

    public enum State
    {
        /// <summary>The web server has received everything that the application has written.</summary>
        Idle,

        /// <summary>The web server does not receive the rest.</summary>
        WriteWaits,

        /// <summary>The same, after the application has returned: only the server has the rest.</summary>
        EndWaits,
    }

    public static IEnumerable<object[]> Cases
        => from reason in Enum.GetValues<Reason>()
           from state in Enum.GetValues<State>()
           where state != (reason switch
           {
               Reason.Exception or Reason.Abort => State.EndWaits,
               Reason.SendTimeout => State.Idle,
               _ => (State)(-1),
           })
           from peer in new[] { (true, "nginx/1.22.1"), (false, "nginx/1.22.1"), (true, "HAProxy 2.6.12") }
           select new object[] { reason, state, peer.Item1, peer.Item2 };

    [Theory, MemberData(nameof(Cases))]
    [Contract("B10")]
    public async Task StartedResponse_IsSeenAsCut(Reason reason, State state, bool hasReset, string software)
    {
        var act = Waiting.Signal();
        await using var frontEnd = await TestServer.ConnectAsync(
            context => RespondAsync(context, reason, state, act.Task),
            options =>
            {
                options.Limits.SendTimeout = s_limit;
                options.Limits.LingerTimeout = s_limit;
                options.Limits.MaxResponseBufferSize = state == State.EndWaits ? null : 64 * 1024;
            },
            expects: reason == Reason.Exception ? "ApplicationError" : null);
        var transport = frontEnd.Transport;
        transport.HasReset = hasReset;
        if (state != State.Idle)
            transport.TakeOnly(Taken);

        (string, string)[] parameters =
            [("SERVER_SOFTWARE", software), ("REQUEST_METHOD", "GET"), ("REQUEST_URI", "/")];
        frontEnd.Send(
            RecordBytes.Begin(), RecordBytes.ParamsStream(1, parameters), RecordBytes.Record(RecordBytes.Stdin, 1));
        await transport.WaitUntilAsync(() => transport.SendCount == 1, "the start of the response");
        var stop = Act(frontEnd, reason, act);
        await EndAsync(frontEnd);

        // A reset may crash HAProxy.
        var resets = hasReset && software != "HAProxy 2.6.12";
        Assert.Equal(resets, transport.IsReset);
        if (!resets)
            AssertEndsWithAbort(frontEnd, state);
        frontEnd.Close();
        await stop.Within("the stop");
    }

    /// <summary>The web server is known by the first request whose params are complete.</summary>
    [Theory, Values("refused", "aborted", "too large", "without params")]
    public async Task StartedResponse_AfterARequestThatWasNeverComplete_ConnectionIsNotReset(string first)
    {
        (string, string) software = ("SERVER_SOFTWARE", "HAProxy 2.6.12");
        var act = Waiting.Signal();
        await using var frontEnd = await TestServer.ConnectAsync(
            context => RespondAsync(context, Reason.Abort, State.Idle, act.Task),
            static options => options.Limits.MaxRequestParametersTotalSize = 1_000);
        frontEnd.Transport.HasReset = true;
        frontEnd.Send(first switch
        {
            "refused" => RecordBytes.Begin(1, role: 3),
            "aborted" => [.. RecordBytes.Begin(), .. RecordBytes.Abort()],
            "too large" => RecordBytes.Get(more: [("HTTP_X", new string('x', 1_000)), software]),
            _ => [.. RecordBytes.Begin(), .. RecordBytes.Record(RecordBytes.Stdin, 1)],
        });
        await frontEnd.Transport.WaitUntilAsync(() => frontEnd.Transport.SendCount == 1, "END_REQUEST");

        frontEnd.Send(RecordBytes.Get(more: software));
        await frontEnd.Transport.WaitUntilAsync(() => frontEnd.Transport.SendCount == 2, "the start of the response");
        act.SetResult();
        await EndAsync(frontEnd);

        Assert.False(frontEnd.Transport.IsReset);
    }

    /// <summary>The deadline for a request of which a part has come is another one.</summary>
    [Theory]
    [InlineData(Reason.Abort, false)]
    [InlineData(Reason.ProtocolError, false)]
    [InlineData(Reason.Failure, true)]
    public async Task EndOfACutResponse_NotTakenInTime_ConnectionClosed(Reason reason, bool hasPartOfAnother)
    {
        var (act, aborted) = (Waiting.Signal(), Waiting.Signal());
        await using var frontEnd = await TestServer.ConnectAsync(
            context => RespondAsync(context, reason, State.WriteWaits, act.Task, aborted),
            static options =>
            {
                options.Limits.LingerTimeout = s_limit;
                options.Limits.RequestParametersTimeout = TimeSpan.FromSeconds(1);
            });
        frontEnd.Transport.HasReset = false;
        frontEnd.Transport.HoldSends();
        frontEnd.Send(RecordBytes.Get());
        await frontEnd.Transport.WaitUntilAsync(() => frontEnd.Transport.SendCount == 1, "the start of the response");
        if (hasPartOfAnother)
            frontEnd.Send(RecordBytes.Begin(2)[..12]);

        await Act(frontEnd, reason, act);
        if (reason == Reason.Abort)
            await aborted.Task.Within("the abort");
        for (var i = 0; i < 4; i++)
            frontEnd.Server.Clock.Advance(s_limit / 5);
        Assert.False(frontEnd.Transport.IsReset);
        frontEnd.Server.Clock.Advance(s_limit);

        Assert.True(frontEnd.Transport.IsReset);
    }

    /// <param name="aborted">Signaled when the handler has aborted the request.</param>
    private static async Task RespondAsync(
        HttpContext context, Reason reason, State state, Task act, TaskCompletionSource? aborted = null)
    {
        var write = context.Response.Body.WriteAsync(Apps.Pattern(state == State.Idle ? 10 : 4 * Taken)).AsTask();
        if (state == State.EndWaits)
            return;

        await act;
        if (reason == Reason.Exception)
            throw new InvalidOperationException("The application fails.");
        if (reason != Reason.Abort)
            await Apps.UntilAborted(context);
        context.Abort();
        aborted?.SetResult();
        await write;
    }

    private static Task Act(FrontEnd frontEnd, Reason reason, TaskCompletionSource act)
    {
        act.SetResult();
        switch (reason)
        {
            case Reason.ShutdownTimeout:
                return frontEnd.Server.StopAsync(new CancellationToken(canceled: true));
            case Reason.SendTimeout:
                frontEnd.Server.Clock.Advance(s_limit + TimeSpan.FromSeconds(2));
                break;
            case Reason.ProtocolError:
                frontEnd.Send([9, 9, 9, 9, 9, 9, 9, 9]);
                break;
            case Reason.Failure:
                frontEnd.Transport.Connection.Fail();
                break;
        }

        return Task.CompletedTask;
    }

    /// <summary>An exception leaves what was flushed to the web server, for a limited time.</summary>
    private static Task EndAsync(FrontEnd frontEnd) => frontEnd.Server.AdvanceUntilAsync(
        () => frontEnd.Transport.IsReset || frontEnd.Transport.IsClosed, "the end of the connection");

    private static void AssertEndsWithAbort(FrontEnd frontEnd, State state)
    {
        var records = frontEnd.ReadAvailable();
        Assert.Equal(RecordBytes.CutMark, records[^1].Type);
        Assert.All(
            records.SkipLast(1), static record => Assert.Equal((RecordBytes.Stdout, 1), (record.Type, record.Id)));
        // Only the record that was being sent.
        if (state != State.Idle)
            Assert.InRange(records.Sum(static record => record.Content.Length), Taken - 100, Taken + 65_535);
    }
}
