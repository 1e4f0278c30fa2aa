namespace FastCgi.AspNetCore.InMemoryTests.Contract;

/// <summary>OnStarting and OnCompleted: order, errors, and that each runs however the request ends.</summary>
public class ResponseCallbackTests
{
    [Fact]
    [Trait("Contract", "B5")]
    public async Task OnStarting_Several_LastFirstAwaitedAndMayChangeAll()
    {
        var answer = await Parity.AssertAsync(async (context, seen) =>
        {
            var response = context.Response;
            response.OnStarting(() =>
            {
                seen.Note("first, started", response.HasStarted);
                response.StatusCode = 202;
                response.ContentLength = 3;
                return Task.CompletedTask;
            });
            response.OnStarting(async () =>
            {
                await Task.Yield();
                seen.Note("second", "called");
                response.OnStarting(() =>
                {
                    seen.Note("third", "called");
                    response.Headers["X-Third"] = "1";
                    return Task.CompletedTask;
                });
            });
            await response.WriteAsync("abc");
        });

        Assert.Equal(["second: called", "third: called", "first, started: False"], answer.Observed);
        Assert.Equal(
            (202, "1", "3", "abc"),
            (answer.Outcome.Status, answer.Outcome["X-Third"], answer.Outcome["Content-Length"], answer.Outcome.Text));
    }

    [Fact]
    [Trait("Contract", "B5")]
    public async Task OnStarting_LengthTooSmallForTheFirstWrite_WriteThrowsAndNothingIsSent()
    {
        var answer = await Parity.AssertAsync((context, seen) =>
        {
            context.Response.OnStarting(Apps.Do(() => context.Response.ContentLength = 2));
            return seen.TryAsync("write", () => context.Response.Body.WriteAsync("abc"u8.ToArray()).AsTask());
        });

        Assert.Equal(500, answer.Outcome.Status);
    }

    [Theory]
    [Trait("Contract", "B6")]
    [Values("write", "flush stream", "flush writer", "start")]
    public async Task OnStarting_Throws_UseThrowsAndRequestEndsIn500(string use)
    {
        var answer = await Parity.AssertAsync(async (context, seen) =>
        {
            AddCallbackThatThrows(context.Response, seen);
            await seen.TryAsync(use, () => ResponseStart.UseAsync(context.Response, use));
            seen.Note("started", context.Response.HasStarted);
        });

        Assert.Equal(500, answer.Outcome.Status);
        Assert.Contains($"{use}: ObjectDisposedException", answer.Observed);
        Assert.DoesNotContain("outer: called", answer.Observed);
    }

    [Fact]
    [Trait("Contract", "B6")]
    public async Task OnStarting_ThrowsAndTheApplicationContinues_FurtherUseThrowsToo()
    {
        var response = await TestServer.AskFailingAsync(async context =>
        {
            AddCallbackThatThrows(context.Response, new Observations());
            var inner = (await Assert.ThrowsAsync<ObjectDisposedException>(
                () => context.Response.WriteAsync("x"))).InnerException;
            Assert.Equal("on purpose", inner!.Message);
            await Assert.ThrowsAsync<ObjectDisposedException>(() => context.Response.WriteAsync("x"));
            await Assert.ThrowsAsync<ObjectDisposedException>(() => context.Response.Body.FlushAsync());
        });

        Assert.Equal(500, response.Status);
    }

    [Fact]
    [Trait("Contract", "B7")]
    public async Task OnStarting_ApplicationThrewBefore_NotCalled()
    {
        var answer = await Parity.AssertAsync((context, seen) =>
        {
            context.Response.OnStarting(Apps.Do(() => seen.Note("starting", "called")));
            throw new InvalidOperationException("on purpose");
        });

        Assert.Empty(answer.Observed);
        Assert.Equal(500, answer.Outcome.Status);
    }

    [Theory]
    [Trait("Contract", "B8")]
    [Values(false, true)]
    public async Task OnCompleted_Several_EachCalledLastFirst(bool fails)
    {
        var done = Waiting.Signal();
        var answer = await Parity.AssertAsync(async (context, seen) =>
        {
            var response = context.Response;
            response.OnCompleted(async () =>
            {
                seen.Note("last", $"{response.StatusCode} {context.Request.Path} {context.Items["key"]}");
                await seen.TryAsync("body", () => response.Body.WriteAsync("x"u8.ToArray()).AsTask());
                done.TrySetResult();
            });
            response.OnCompleted(static () => throw new InvalidOperationException("of the callback"));
            response.OnCompleted(Apps.Do(
                () => response.OnCompleted(Apps.Do(() => seen.Note("registered late", "called")))));
            context.Items["key"] = "kept";
            if (fails)
                throw new InvalidOperationException("on purpose");
            await response.WriteAsync("Hello");
        });

        await done.Task.Within("the last callback");
        Assert.Equal("registered late: called", answer.Observed[0]);
        Assert.Equal($"last: {(fails ? 500 : 200)} / kept", answer.Observed[1]);
        Assert.Contains("InvalidOperationException: of the callback", answer.ApplicationErrors);
    }

    [Fact]
    [Trait("Contract", "B8")]
    [Trait("Contract", "T8")]
    public async Task OnCompleted_RequestAborted_CalledAndScopeReleased()
    {
        var completed = Waiting.Signal();
        var disposed = new ReleaseSignal();
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            context.Response.OnCompleted(Apps.Do(() => completed.SetResult()));
            context.Response.RegisterForDispose(disposed);
            await Apps.UntilAborted(context);
        });

        frontEnd.Send(RecordBytes.Get());
        frontEnd.Close();

        await completed.Task.Within("the callback");
        await disposed.Task.Within("the release");
    }

    private static void AddCallbackThatThrows(HttpResponse response, Observations seen)
    {
        response.OnStarting(Apps.Do(() => seen.Note("outer", "called")));
        response.OnStarting(static () => throw new InvalidOperationException("on purpose"));
    }

    private sealed class ReleaseSignal : IDisposable
    {
        private readonly TaskCompletionSource _source = Waiting.Signal();

        public Task Task => _source.Task;

        public void Dispose() => _source.SetResult();
    }
}
