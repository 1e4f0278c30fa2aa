using System.Collections.Immutable;

namespace FastCgi.AspNetCore.UnitTests.Streams;

/// <summary>When and how a connection ends, as a table of its states, and what holds for every history.</summary>
public sealed class ConnectionLifetimeTests
{
    private const int Depth = 7;

    private enum Event
    {
        Begin,
        EndKept,
        EndNotKept,
        EndBeforeInput,
        Leave,
        AllSent,
        Drained,
        FailByCut,
        FailByReset,
    }

    [Theory]
    [InlineData(true, false, true, nameof(RequestEnding.Complete), nameof(ConnectionPhase.Open))]
    [InlineData(true, true, true, nameof(RequestEnding.CompleteWithCloseNotice), nameof(ConnectionPhase.Closing))]
    [InlineData(true, true, false, nameof(RequestEnding.Complete), nameof(ConnectionPhase.Closing))]
    [InlineData(false, false, true, nameof(RequestEnding.Complete), nameof(ConnectionPhase.Closing))]
    public void Complete_CloseNoticeToWhatWouldBeKept(
        bool keepsConnection, bool isStopping, bool isLast, string ending, string phase)
    {
        var lifetime = new ConnectionLifetime();

        Assert.Equal(ending, lifetime.OnComplete(keepsConnection, isStopping, isLast).ToString());
        Assert.Equal(phase, lifetime.Phase.ToString());
    }

    [Theory]
    [InlineData(true, true, true, nameof(RequestEnding.CutByEndRequest), nameof(ConnectionPhase.Open))]
    [InlineData(true, false, false, nameof(RequestEnding.CutByEndRequest), nameof(ConnectionPhase.Open))]
    [InlineData(false, true, true, nameof(RequestEnding.CutByReset), nameof(ConnectionPhase.Resetting))]
    [InlineData(false, true, false, nameof(RequestEnding.CutByReset), nameof(ConnectionPhase.Resetting))]
    [InlineData(false, false, true, nameof(RequestEnding.CutByClose), nameof(ConnectionPhase.Cutting))]
    [InlineData(false, false, false, nameof(RequestEnding.CutByClose), nameof(ConnectionPhase.Closing))]
    public void Cut_DoesNoHarmToOthers(bool harmsOthers, bool canReset, bool cutsSend, string ending, string phase)
    {
        var lifetime = new ConnectionLifetime();

        Assert.Equal(ending, lifetime.OnCut(harmsOthers, canReset, cutsSend, now: 1).ToString());
        Assert.Equal(phase, lifetime.Phase.ToString());
    }

    /// <summary>
    /// Every history of seven events: the phase never goes back except from Leaving to Closing. A connection with
    /// requests is never closed, and none is closed twice. Only a failed connection is reset. A closing connection
    /// without requests is closed when everything is sent.
    /// </summary>
    [Fact]
    public void Histories_All_KeepTheInvariants()
        => Assert.Equal(
            (int)Math.Pow(Enum.GetValues<Event>().Length, Depth),
            CountHistories(new ConnectionLifetime(), Depth, requests: 0, ends: 0, []));

    /// <summary>Continues with each event from the state that a history has led to.</summary>
    private static int CountHistories(
        ConnectionLifetime from, int left, int requests, int ends, ImmutableStack<Event> history)
    {
        if (left == 0)
            return 1;

        var count = 0;
        foreach (var step in Enum.GetValues<Event>())
        {
            var (lifetime, requestsNow) = (from, requests);
            var action = Apply(ref lifetime, step, ref requestsNow);
            var endsNow = ends + (action is CloseAction.Close or CloseAction.HalfClose ? 1 : 0);
            var next = history.Push(step);
            var isBack = lifetime.Phase < from.Phase
                && !(from.Phase == ConnectionPhase.Leaving && lifetime.Phase == ConnectionPhase.Closing);
            Check(!isBack, next);
            Check(
                action is not (CloseAction.Close or CloseAction.HalfClose or CloseAction.CheckInput)
                || requestsNow == 0,
                next);
            Check(endsNow <= 1, next);
            Check(
                step != Event.AllSent || from.Phase == ConnectionPhase.Resetting == (action == CloseAction.Reset),
                next);
            Check(
                step != Event.AllSent
                || from.Phase is not (ConnectionPhase.Closing or ConnectionPhase.Cutting)
                || requestsNow > 0
                || action is CloseAction.Close or CloseAction.HalfClose,
                next);
            count += CountHistories(lifetime, left - 1, requestsNow, endsNow, next);
        }

        return count;
    }

    private static void Check(bool holds, ImmutableStack<Event> history)
    {
        if (!holds)
            Assert.Fail(string.Join(", ", history.Reverse()));
    }

    private static CloseAction Apply(ref ConnectionLifetime lifetime, Event step, ref int requests)
    {
        switch (step)
        {
            case Event.Begin when lifetime.TryBeginRequest(requests > 0):
                requests++;
                break;
            case Event.EndKept or Event.EndNotKept or Event.EndBeforeInput when requests > 0:
                if (step != Event.EndKept)
                    lifetime.CloseAfterLast();
                lifetime.OnRequestLeft(isInputOver: step != Event.EndBeforeInput, hasRequests: --requests > 0, now: 1);
                break;
            case Event.Leave when requests == 0:
                lifetime.TryLeave();
                break;
            case Event.AllSent:
                return lifetime.Decide(
                    isIdle: requests == 0, isUndelivered: false, canWait: true, hasNoInput: false, now: 1);
            case Event.Drained when lifetime.Phase == ConnectionPhase.Draining:
                lifetime.OnDrained(1, now: 1);
                break;
            case Event.FailByCut or Event.FailByReset:
                lifetime.TryFail(mustCut: step == Event.FailByCut, now: 1);
                requests = 0;
                break;
        }

        return CloseAction.None;
    }
}
