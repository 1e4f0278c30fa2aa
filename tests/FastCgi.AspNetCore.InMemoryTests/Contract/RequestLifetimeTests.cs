namespace FastCgi.AspNetCore.InMemoryTests.Contract;

/// <summary><c>RequestAborted</c> and <c>Abort()</c>: when they fire, and when they no longer do.</summary>
public class RequestLifetimeTests
{
    [Theory]
    [Trait("Contract", "F1")]
    [Trait("Contract", "F6")]
    [Trait("Contract", "A6")]
    [Trait("Contract", "A7")]
    [Values(false, true)]
    public async Task RequestAborted_ClientGoes_CancelledAndNoError(bool isStarted)
    {
        var gone = Waiting.Signal();
        var answer = await Parity.AssertAsync(
            async (context, seen) =>
            {
                if (isStarted)
                    await context.Response.WriteAsync("partial");
                gone.TrySetResult();
                await seen.TryAsync("waiting", () => Apps.UntilAborted(context));
                seen.Note("aborted", context.RequestAborted.IsCancellationRequested);
                context.RequestAborted.ThrowIfCancellationRequested();
            },
            new TestRequest { GoneWhen = gone.Task });

        Assert.Empty(answer.ApplicationErrors);
        Assert.Contains(
            isStarted ? "http.response.status_code=200" : "http.response.status_code=499",
            answer.Measurement,
            StringComparison.Ordinal);
    }

    [Theory]
    [Trait("Contract", "A6")]
    [Trait("Contract", "I66")]
    [Values(false, true)]
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
        Assert.Equal(
            LogLevel.Debug,
            Assert.Single(frontEnd.Server.Logs.All, static log => log.EventName == "RequestAborted").Level);
    }

    [Fact]
    [Trait("Contract", "A6")]
    public async Task Exception_OfAnotherKindAfterTheClientHasGone_IsAnError()
    {
        var gone = Waiting.Signal();
        var answer = await Parity.AssertAsync(
            async (context, _) =>
            {
                gone.TrySetResult();
                try
                {
                    await Apps.UntilAborted(context);
                }
                catch (OperationCanceledException)
                {
                    throw new FormatException("on purpose");
                }
            },
            new TestRequest { GoneWhen = gone.Task });

        Assert.Equal(["FormatException: on purpose"], answer.ApplicationErrors);
    }

    /// <summary>
    /// The log contains the exception that was thrown, with its stack trace, and not one that only reports a cancelled
    /// task.
    /// </summary>
    [Fact]
    [Trait("Contract", "A6")]
    public async Task Exception_OfCancellationLater_IsTheOneThatWasThrown()
    {
        var answer = await Parity.AssertAsync(static async (_, _) =>
        {
            await Task.Yield();
            throw new OperationCanceledException("on purpose");
        });

        Assert.Equal(500, answer.Outcome.Status);
        Assert.Equal(["OperationCanceledException: on purpose"], answer.ApplicationErrors);
    }

    [Fact]
    [Trait("Contract", "F2")]
    public async Task RequestAborted_FetchedAfterTheLastDeclaredByte_None()
    {
        var answer = await Parity.AssertAsync(static async (context, seen) =>
        {
            context.Response.ContentLength = 3;
            seen.Note("before", context.RequestAborted.CanBeCanceled);
            await context.Response.Body.WriteAsync("ab"u8.ToArray());
            seen.Note("between", context.RequestAborted.CanBeCanceled);
            await context.Response.Body.WriteAsync("c"u8.ToArray());
            seen.Note("after", context.RequestAborted.CanBeCanceled);
        });

        Assert.Equal(["before: True", "between: True", "after: False"], answer.Observed);
    }

    [Theory]
    [Trait("Contract", "F2")]
    [Trait("Contract", "T9")]
    [Values(true, false)]
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
    [Trait("Contract", "F3")]
    [Trait("Contract", "T11")]
    public async Task RequestAborted_RegistrationLeftBehind_NotCalledForTheNextRequest()
    {
        var calls = 0;
        var started = Waiting.Signal();
        var ended = Waiting.Signal();
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            if (context.Request.Path == "/register")
            {
                context.RequestAborted.Register(() => Interlocked.Increment(ref calls));
                return;
            }

            started.SetResult();
            await Assert.ThrowsAnyAsync<OperationCanceledException>(() => Apps.UntilAborted(context));
            ended.SetResult();
        });

        for (var i = 0; i < 40; i++)
            await frontEnd.AskAsync(RecordBytes.Get(uri: "/register"));

        frontEnd.Send(RecordBytes.Get());
        await started.Task.Within("the application");
        frontEnd.Close();
        await ended.Task.Within("the cancellation");

        Assert.Equal(0, calls);
    }

    [Fact]
    [Trait("Contract", "F4")]
    public async Task RequestAborted_Replaced_ApplicationSeesItAndTheOtherStillFires()
    {
        var gone = Waiting.Signal();
        await Parity.AssertAsync(
            async (context, seen) =>
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
            new TestRequest { GoneWhen = gone.Task });
    }

    [Theory]
    [Trait("Contract", "F5")]
    [Trait("Contract", "I34")]
    [Values(false, true)]
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
        Assert.Equal(
            LogLevel.Information,
            Assert.Single(frontEnd.Server.Logs.All, static log => log.EventName == "ApplicationAborted").Level);
    }

    [Fact]
    [Trait("Contract", "T10")]
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
}
