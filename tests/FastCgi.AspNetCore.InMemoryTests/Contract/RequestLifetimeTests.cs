namespace FastCgi.AspNetCore.InMemoryTests.Contract;

/// <summary><c>RequestAborted</c> and <c>Abort()</c>: when they fire, and when they no longer do.</summary>
public class RequestLifetimeTests
{
    // The client goes when the signal is set.
    private static readonly Dictionary<string, Func<HttpContext, Observations, TaskCompletionSource, Task>>
        s_ends = new()
        {
            ["client goes"] = static (context, seen, gone) => WaitAsync(context, seen, gone),
            ["client goes after the start"] = static async (context, seen, gone) =>
            {
                await context.Response.WriteAsync("partial");
                await WaitAsync(context, seen, gone);
            },
            ["client goes, and something else fails"] = static async (context, _, gone) =>
            {
                gone.TrySetResult();
                await Record.ExceptionAsync(() => Apps.UntilAborted(context));
                throw new FormatException("on purpose");
            },
            ["client goes after the token was replaced"] = static async (context, seen, gone) =>
            {
                var lifetime = context.Features.Get<IHttpRequestLifetimeFeature>()!;
                var own = lifetime.RequestAborted;
                using var source = CancellationTokenSource.CreateLinkedTokenSource(own);
                context.RequestAborted = source.Token;
                seen.Note("replaced", context.RequestAborted == source.Token);
                gone.TrySetResult();
                await seen.TryAsync("waiting", () => Apps.UntilAborted(context));
                seen.Note("own", own.IsCancellationRequested);
            },
            // The log contains the exception that was thrown, and not one that only reports a cancelled task.
            ["cancellation without an abort"] = static async (_, _, _) =>
            {
                await Task.Yield();
                throw new OperationCanceledException("on purpose");
            },
            ["last declared byte"] = static async (context, seen, _) =>
            {
                context.Response.ContentLength = 3;
                seen.Note("before", context.RequestAborted.CanBeCanceled);
                await context.Response.Body.WriteAsync("ab"u8.ToArray());
                seen.Note("between", context.RequestAborted.CanBeCanceled);
                await context.Response.Body.WriteAsync("c"u8.ToArray());
                seen.Note("after", context.RequestAborted.CanBeCanceled);
            },
        };

    public static TheoryData<string> Ends => [.. s_ends.Keys];

    [Theory, MemberData(nameof(Ends))]
    [Contract("A6", "A7", "F1", "F2", "F4", "F6")]
    public Task RequestAborted_AnyEnd_CancelledAndLoggedAsKestrel(string end)
    {
        var gone = Waiting.Signal();
        return Parity.AssertAsync(
            (context, seen) => s_ends[end](context, seen, gone),
            new TestRequest { GoneWhen = end.StartsWith("client", StringComparison.Ordinal) ? gone.Task : null });
    }

    [Theory, Values(false, true)]
    [Contract("A6", "I66")]
    public async Task Exception_OfTheClientsAbsence_LoggedAtDebugOnly(bool isInput)
    {
        var completed = Waiting.Signal();
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            context.Response.OnCompleted(Apps.Do(() => completed.SetResult()));
            if (isInput)
                await context.Request.Body.CopyToAsync(Stream.Null);
            else
                await Apps.UntilAborted(context);
        });

        frontEnd.Send(RecordBytes.PostHead(3));
        frontEnd.Close();

        await completed.Task.Within("the end of the request");
        Assert.Equal(LogLevel.Debug, (await frontEnd.Server.Logs.SingleAsync("RequestAborted")).Level);
    }

    [Theory, Values(true, false)]
    [Contract("F2", "T9")]
    public async Task RequestAborted_PeerClosesAfterTheWholeResponse_NotCancelled(bool hasLength)
    {
        var isWritten = Waiting.Signal();
        var isClosed = Waiting.Signal();
        var wasCancelled = Waiting.Signal<bool>();
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            var aborted = context.RequestAborted;
            if (hasLength)
                context.Response.ContentLength = 3;
            await context.Response.WriteAsync("abc");
            if (!hasLength)
                await context.Response.CompleteAsync();
            isWritten.SetResult();
            await isClosed.Task;
            wasCancelled.SetResult(aborted.IsCancellationRequested);
        });

        frontEnd.Send(RecordBytes.Get(keepConnection: false));
        await isWritten.Task.Within("the response");
        frontEnd.Close();
        isClosed.SetResult();

        Assert.False(await wasCancelled.Task.Within("the end of the application"));
    }

    [Fact]
    [Contract("F3", "T11")]
    public async Task RequestAborted_RegistrationLeftBehind_NotCalledForTheNextRequest()
    {
        var calls = 0;
        var ended = Waiting.Signal();
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            if (context.Request.Path == "/register")
            {
                context.RequestAborted.Register(() => Interlocked.Increment(ref calls));
                return;
            }

            await Assert.ThrowsAnyAsync<OperationCanceledException>(() => Apps.UntilAborted(context));
            ended.SetResult();
        });

        for (var i = 0; i < 40; i++)
            await frontEnd.AskAsync(RecordBytes.Get(uri: "/register"));

        frontEnd.Send(RecordBytes.Get());
        frontEnd.Close();
        await ended.Task.Within("the cancellation");

        Assert.Equal(0, calls);
    }

    [Theory, Values(false, true)]
    [Contract("F5", "I34")]
    public async Task Abort_ByTheApplication_ReadsFailAndNothingIsSent(bool isStarted)
    {
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            if (isStarted)
                await context.Response.StartAsync();
            context.Abort();
            context.Abort();
            await Assert.ThrowsAnyAsync<OperationCanceledException>(
                () => context.Request.Body.ReadExactlyAsync(new byte[1]).AsTask());
            await context.Response.WriteAsync("not sent");
        });

        frontEnd.Send(RecordBytes.PostHead(3));

        Assert.Equal((0, true), ((await frontEnd.ReadOutcomeAsync()).Status, frontEnd.Transport.IsReset));
        Assert.Equal(LogLevel.Information, (await frontEnd.Server.Logs.SingleAsync("ApplicationAborted")).Level);
    }

    [Fact]
    [Contract("T10")]
    public async Task RequestAborted_CallbackUsesTheResponse_NoDeadlock()
    {
        var called = Waiting.Signal();
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            context.RequestAborted.Register(() =>
            {
                // On another thread, so that a lock that this one held would show.
                Task.Run(async () =>
                {
                    await context.Response.WriteAsync("late");
                    context.Abort();
                }).Wait(TimeSpan.FromSeconds(20));
                called.SetResult();
            });
            await called.Task;
        });

        frontEnd.Send(RecordBytes.Get());
        frontEnd.Close();

        await called.Task.Within("the callback");
        Assert.Equal(0, frontEnd.Server.Connections.Count);
    }

    /// <summary>The request's own exception, which is no error.</summary>
    private static async Task WaitAsync(HttpContext context, Observations seen, TaskCompletionSource gone)
    {
        gone.TrySetResult();
        await seen.TryAsync("waiting", () => Apps.UntilAborted(context));
        seen.Note("aborted", context.RequestAborted.IsCancellationRequested);
        context.RequestAborted.ThrowIfCancellationRequested();
    }
}
