using System.Runtime.CompilerServices;
using FastCgi.AspNetCore.Connections;
using FastCgi.AspNetCore.Testing;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Xunit;

namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>
/// A request waits for a thread, because handlers block all there are, and its client leaves: what it has sent is released at once, not when a
/// thread comes to it.
/// </summary>
public sealed class WaitingAbortTests
{
    private const int Filter = 3;

    private static readonly byte[] s_content = Apps.Pattern(30_000);

    public enum Leaving
    {
        AbortRequest,
        ConnectionLost,
        Reset,
    }

    public static TheoryData<Leaving, bool, bool> Cases
    {
        get
        {
            var cases = new TheoryData<Leaving, bool, bool>();
            foreach (var how in Enum.GetValues<Leaving>())
            {
                foreach (var isFilter in new[] { false, true })
                {
                    cases.Add(how, isFilter, false);
                    cases.Add(how, isFilter, true);
                }
            }

            return cases;
        }
    }

    [Theory, MemberData(nameof(Cases))]
    public async Task Request_AbortedBeforeItIsExecuted_ReleasesWhatItHasReceived(Leaving how, bool isFilter, bool isOver)
    {
        var isCalled = false;
        await using var server = await StartAsync(_ =>
        {
            isCalled = true;
            return Task.CompletedTask;
        });
        var (frontEnd, ready) = Receive(server, isFilter, isOver);
        var request = ready.RemoveFirst();
        Assert.True(request.Parameters.HasMemory);
        Assert.Equal(s_content.Length, request.Input.ReceivedLength);

        Leave(frontEnd, how);

        Assert.False(request.Parameters.HasMemory);
        await Waiting.UntilAsync(() => server.Context.Buffers.RentedCount == 0, "all buffers to be returned");
        // A thread comes to it at last.
        request.Execute();
        Assert.False(isCalled);
        Assert.Equal(0, server.Context.Requests.UsedCount);
    }

    /// <summary>What was made of the params is as long as they are, and its characters take two bytes.</summary>
    [Theory]
    [InlineData(Leaving.AbortRequest)]
    [InlineData(Leaving.ConnectionLost)]
    [InlineData(Leaving.Reset)]
    public async Task Request_AbortedBeforeItIsExecuted_KeepsNoTarget(Leaving how)
    {
        await using var server = await StartAsync(Apps.Hello);
        var frontEnd = server.Connect();
        var ready = new ReadyRequests();
        frontEnd.Transport.Connection.OnReceived(RecordBytes.Get(1, $"/{new string('p', 20_000)}?{new string('q', 20_000)}"), ref ready);
        var request = ready.RemoveFirst();
        var (path, query) = GetTarget(request);
        Assert.True(path.IsAlive && query.IsAlive);

        Leave(frontEnd, how);

        GC.Collect();
        var isKept = path.IsAlive || query.IsAlive;
        request.Execute();
        Assert.False(isKept);
    }

    /// <summary>The object serves the next request, whose application reads all of it.</summary>
    [Theory]
    [InlineData(Leaving.AbortRequest)]
    [InlineData(Leaving.ConnectionLost)]
    [InlineData(Leaving.Reset)]
    public async Task Object_OfSuchARequest_ServesTheNextOne(Leaving how)
    {
        await using var server = await StartAsync(Apps.BodyHash);
        var (frontEnd, ready) = Receive(server, isFilter: false, isOver: false);
        var request = ready.RemoveFirst();
        Leave(frontEnd, how);
        request.Execute();

        var isUsedAgain = false;
        for (var i = 0; i < 100 && !isUsedAgain; i++)
        {
            var next = server.Connect();
            var following = new ReadyRequests();
            next.Transport.Connection.OnReceived(RecordBytes.Post(1, "/", s_content), ref following);
            var second = following.RemoveFirst();
            isUsedAgain = second == request;
            second.Execute();
            Assert.Equal(Apps.HashOf(s_content), (await next.ReadResponseAsync()).Text);
        }

        Assert.True(isUsedAgain);
    }

    /// <summary>An application that has been called has what it was given, and is told by what it reads.</summary>
    [Theory]
    [InlineData(Leaving.AbortRequest)]
    [InlineData(Leaving.ConnectionLost)]
    [InlineData(Leaving.Reset)]
    public async Task Request_AbortedWhileItIsExecuted_KeepsItsParametersAndFailsItsReads(Leaving how)
    {
        var go = Waiting.Signal();
        var seen = Waiting.Signal<(string?, Exception?)>();
        await using var server = await StartAsync(async context =>
        {
            await go.Task;
            var failure = await Record.ExceptionAsync(() => context.Request.Body.CopyToAsync(Stream.Null));
            seen.SetResult((context.Request.Headers["X-Long"], failure));
        });
        var (frontEnd, ready) = Receive(server, isFilter: false, isOver: false);
        ready.RemoveFirst().Execute();

        Leave(frontEnd, how);
        go.SetResult();

        var (header, failure) = await seen.Task;
        Assert.Equal(1_000, header?.Length);
        Assert.True(failure is IOException or ConnectionAbortedException, $"{failure}");
    }

    // Apart, so that no local variable keeps them.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static (WeakReference Path, WeakReference Query) GetTarget(IHttpRequestFeature request) => (new(request.Path), new(request.QueryString));

    private static Task<TestServer> StartAsync(RequestDelegate application)
        => TestServer.StartAsync(application, static options => options.Roles.Add(FastCgiRole.Filter));

    private static (FrontEnd FrontEnd, ReadyRequests Ready) Receive(TestServer server, bool isFilter, bool isOver)
    {
        var length = $"{s_content.Length + (isOver ? 0 : 1)}";
        var parameters = RecordBytes.RequestParams(
            "POST", "/", ("CONTENT_LENGTH", length), ("HTTP_X_LONG", new string('x', 1_000)), ("FCGI_DATA_LENGTH", length));
        byte[] bytes = [.. RecordBytes.Begin(role: isFilter ? Filter : 1), .. RecordBytes.ParamsStream(1, parameters), .. RecordBytes.Record(RecordBytes.Stdin, 1, s_content)];
        if (isFilter)
            bytes = [.. bytes, .. RecordBytes.Record(RecordBytes.Data, 1, s_content)];
        var frontEnd = server.Connect();
        var ready = new ReadyRequests();
        frontEnd.Transport.Connection.OnReceived(bytes, ref ready);
        return (frontEnd, ready);
    }

    private static void Leave(FrontEnd frontEnd, Leaving how)
    {
        if (how == Leaving.AbortRequest)
            frontEnd.Send(RecordBytes.Abort());
        else if (how == Leaving.ConnectionLost)
            frontEnd.Transport.Connection.OnClosed(new IOException("The connection is gone."));
        else
            frontEnd.Transport.Connection.Reset();
    }
}
