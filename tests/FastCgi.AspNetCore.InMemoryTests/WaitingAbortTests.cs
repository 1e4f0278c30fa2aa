namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>
/// A request waits for a thread, because handlers block all of them, and its client disconnects: its data is released
/// at once, not when a thread becomes free.
/// </summary>
public sealed class WaitingAbortTests
{
    private static readonly byte[] s_content = Apps.Pattern(30_000);

    public static TheoryData<Leaving> Ways => [.. Enum.GetValues<Leaving>()];

    public static TheoryData<Leaving, bool> Cases => Rows.Cross(Enum.GetValues<Leaving>(), false, true);

    [Theory, MemberData(nameof(Cases))]
    public async Task Request_AbortedBeforeItIsExecuted_ReleasesWhatItHasReceived(Leaving how, bool isOver)
    {
        var isCalled = false;
        await using var server = await TestServer.StartAsync(Apps.Do(_ => isCalled = true));
        var waiting = WaitingRequest.Receive(server, s_content, s_content.Length + (isOver ? 0 : 1));
        var request = waiting.Request;
        Assert.NotEqual(0, request.Parameters.Length);
        Assert.Equal(s_content.Length, request.ReceivedBodyLength);

        waiting.Leave(how);

        Assert.Equal(0, request.Parameters.Length);
        await Waiting.UntilAsync(() => server.Context.Buffers.RentedCount == 0, "all buffers to be returned");
        // Finally, a thread is free.
        request.Execute();
        Assert.False(isCalled);
        await Waiting.UntilAsync(() => request.IsOver, "the end");
    }

    /// <summary>What was made of the params is as long as they are, and its characters take two bytes.</summary>
    [Theory, MemberData(nameof(Ways))]
    public async Task Request_AbortedBeforeItIsExecuted_KeepsNoTarget(Leaving how)
    {
        await using var server = await TestServer.StartAsync(Apps.Hello);
        var waiting = WaitingRequest.Receive(
            server, RecordBytes.Get(1, $"/{new string('p', 20_000)}?{new string('q', 20_000)}"));
        var request = waiting.Request;
        var (path, query) = GetTarget(request);
        Assert.True(path.IsAlive && query.IsAlive);

        waiting.Leave(how);

        GC.Collect();
        var isKept = path.IsAlive || query.IsAlive;
        request.Execute();
        Assert.False(isKept);
    }

    /// <summary>An application that was called keeps its parameters, and its reads fail.</summary>
    [Theory, MemberData(nameof(Ways))]
    public async Task Request_AbortedWhileItIsExecuted_KeepsItsParametersAndFailsItsReads(Leaving how)
    {
        var go = Waiting.Signal();
        var seen = Waiting.Signal<(string?, Exception?)>();
        await using var server = await TestServer.StartAsync(async context =>
        {
            await go.Task;
            var failure = await Record.ExceptionAsync(() => context.Request.Body.CopyToAsync(Stream.Null));
            seen.SetResult((context.Request.Headers["X-Long"], failure));
        });
        var waiting = WaitingRequest.Receive(server, s_content, s_content.Length + 1);
        waiting.Request.Execute();

        waiting.Leave(how);
        go.SetResult();

        var (header, failure) = await seen.Task;
        Assert.Equal(1_000, header?.Length);
        Assert.True(failure is IOException or ConnectionAbortedException, $"{failure}");
    }

    // In a separate method, so that no local variable keeps them alive.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static (WeakReference Path, WeakReference Query) GetTarget(IHttpRequestFeature request)
        => (new(request.Path), new(request.QueryString));
}
