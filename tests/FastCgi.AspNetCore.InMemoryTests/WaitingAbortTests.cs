namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>
/// A request waits for a thread, because handlers block all of them, and its client disconnects: its data is released
/// at once, not when a thread becomes free.
/// </summary>
public sealed class WaitingAbortTests
{
    private static readonly byte[] s_content = Apps.Pattern(30_000);

    [Theory]
    [InlineData("ABORT_REQUEST", false)]
    [InlineData("ABORT_REQUEST", true)]
    [InlineData("lost", false)]
    [InlineData("lost", true)]
    [InlineData("reset", false)]
    [InlineData("reset", true)]
    public async Task Request_AbortedBeforeItIsExecuted_ReleasesWhatItHasReceived(string how, bool isWhole)
    {
        var isCalled = false;
        await using var server = await TestServer.StartAsync(Apps.Do(_ => isCalled = true));
        var frontEnd = server.Connect();
        var request = Receive(frontEnd, isWhole);
        Assert.NotEqual(0, request.Parameters.Length);
        Assert.Equal(s_content.Length, request.ReceivedBodyLength);
        // What was made of the params is as long as they are, and its characters take two bytes.
        var (path, query) = GetTarget(request);
        Assert.True(path.IsAlive && query.IsAlive);

        Leave(frontEnd, how);

        Assert.Equal(0, request.Parameters.Length);
        await Waiting.UntilAsync(() => server.Context.Buffers.RentedCount == 0, "all buffers to be returned");
        GC.Collect();
        var isKept = path.IsAlive || query.IsAlive;
        // Finally, a thread is free.
        request.Execute();
        Assert.False(isKept);
        Assert.False(isCalled);
        await Waiting.UntilAsync(() => request.HasReturned, "the end");
    }

    /// <summary>An application that was called keeps its parameters, and its reads fail.</summary>
    [Theory, Values("ABORT_REQUEST", "lost", "reset")]
    public async Task Request_AbortedWhileItIsExecuted_KeepsItsParametersAndFailsItsReads(string how)
    {
        var go = Waiting.Signal();
        var seen = Waiting.Signal<(string?, Exception?)>();
        await using var server = await TestServer.StartAsync(async context =>
        {
            await go.Task;
            var failure = await Record.ExceptionAsync(() => context.Request.Body.CopyToAsync(Stream.Null));
            seen.SetResult((context.Request.Headers["X-Long"], failure));
        });
        var frontEnd = server.Connect();
        Receive(frontEnd, isWhole: false).Execute();

        Leave(frontEnd, how);
        go.SetResult();

        var (header, failure) = await seen.Task;
        Assert.Equal(1_000, header?.Length);
        Assert.True(failure is IOException or ConnectionAbortedException, $"{failure}");
    }

    /// <summary>A request with a long target, a long header and a body, which waits to be executed.</summary>
    private static FastCgiRequest Receive(FrontEnd frontEnd, bool isWhole)
    {
        var parameters = RecordBytes.RequestParams(
            "POST", $"/{new string('p', 20_000)}?{new string('q', 20_000)}",
            ("CONTENT_LENGTH", $"{s_content.Length + (isWhole ? 0 : 1)}"), ("HTTP_X_LONG", new string('x', 1_000)));
        var ready = frontEnd.Receive(
            RecordBytes.Begin(),
            RecordBytes.ParamsStream(1, parameters),
            RecordBytes.Record(RecordBytes.Stdin, 1, s_content));
        return (FastCgiRequest)ready.RemoveFirst();
    }

    private static void Leave(FrontEnd frontEnd, string how)
    {
        if (how == "ABORT_REQUEST")
            frontEnd.Send(RecordBytes.Abort());
        else if (how == "lost")
            frontEnd.Close();
        else
            frontEnd.Transport.Connection.Fail();
    }

    // In a separate method, so that no local variable keeps them alive.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static (WeakReference Path, WeakReference Query) GetTarget(IHttpRequestFeature request)
        => (new(request.Path), new(request.QueryString));
}
