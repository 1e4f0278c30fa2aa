using ThreadState = System.Threading.ThreadState;

namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>Two threads of the application change a request, or one ends it.</summary>
public class RequestThreadTests
{
    private const int Rounds = 100;
    private const int ManyRounds = 300;

    // Of what goes wrong in each second one.
    private const int FewRounds = 20;

    private const int SetBefore = 20;
    private const int SetAtMost = 400;

    /// <summary>An abandoned thread of the application declares a length while the response ends.</summary>
    [Theory, Values(false, true)]
    public async Task Length_DeclaredWhileTheResponseEnds_IsNeverWrong(bool isCompletedByTheApplication)
    {
        Task? setter = null;
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            setter = Declare(context.Response, out var isDeclaring);
            Assert.True(isDeclaring.Wait(Waiting.Patience));
            if (isCompletedByTheApplication)
                await Record.ExceptionAsync(context.Response.CompleteAsync);
        }, expects: "ApplicationError");

        for (var round = 0; round < FewRounds; round++)
        {
            var response = await frontEnd.AskAsync();
            await setter!.Within("the other thread");
            Assert.Equal(("0", ""), (response["Content-Length"], response.Text));
        }
    }

    [Fact]
    public async Task OnCompleted_WhileTheRequestEnds_IsCalledOrRefused()
    {
        Task<int>? registered = null;
        var called = 0;
        await using var frontEnd = await TestServer.ConnectAsync(context =>
        {
            var isRegistering = new ManualResetEventSlim();
            var response = context.Features.GetRequiredFeature<IHttpResponseFeature>();
            registered = Task.Factory.StartNew(
                () =>
                {
                    for (var count = 0; ; count++)
                    {
                        try
                        {
                            response.OnCompleted(
                                _ =>
                                {
                                    Interlocked.Increment(ref called);
                                    return Task.CompletedTask;
                                },
                                response);
                        }
                        catch (ObjectDisposedException)
                        {
                            return count;
                        }

                        isRegistering.Set();
                        Thread.SpinWait(200);
                    }
                },
                TaskCreationOptions.LongRunning);
            Assert.True(isRegistering.Wait(Waiting.Patience));
            return Task.CompletedTask;
        });

        for (var round = 0; round < Rounds; round++)
        {
            called = 0;
            await frontEnd.AskAsync();
            var count = await registered!.Within("the other thread");
            await Waiting.UntilAsync(() => Volatile.Read(ref called) == count, "each callback that was taken");
        }
    }

    [Fact]
    public async Task Features_SetByTwoThreads_EachIsThereAndFound()
    {
        Type[] types =
        [
            typeof(byte), typeof(sbyte), typeof(short), typeof(ushort), typeof(int), typeof(uint), typeof(long),
            typeof(ulong),
        ];
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            var before = context.Features.Revision;
            using var start = new Barrier(2);
            await Task.WhenAll(Enumerable.Range(0, 2).Select(thread => Task.Factory.StartNew(
                () =>
                {
                    start.SignalAndWait(Waiting.Patience);
                    for (var i = thread; i < types.Length; i += 2)
                    {
                        context.Features[types[i]] = i;
                        Assert.Null(context.Features.Get<IFeatureCollection>());
                        Assert.All(context.Features, static feature => Assert.NotNull(feature.Value));
                    }
                },
                TaskCreationOptions.LongRunning)));
            Assert.Equal(Enumerable.Range(0, types.Length), types.Select(type => (int)context.Features[type]!));
            Assert.Equal(types.Length, context.Features.Revision - before);
        });
        for (var round = 0; round < Rounds; round++)
            Assert.Equal(200, (await frontEnd.AskAsync()).Status);
    }

    /// <summary>Declares a length and takes it back, until it is refused.</summary>
    private static Task Declare(HttpResponse response, out ManualResetEventSlim isDeclaring)
    {
        var signal = isDeclaring = new ManualResetEventSlim();
        var headers = response.Headers;
        return Task.Factory.StartNew(
            () =>
            {
                try
                {
                    while (true)
                    {
                        headers.ContentLength = 100;
                        headers.ContentLength = null;
                        signal.Set();
                    }
                }
                catch (InvalidOperationException)
                {
                }
            },
            TaskCreationOptions.LongRunning);
    }

    [Theory, Values("starting", "completed", "start")]
    public async Task Change_WhileTheResponseStarts_Waits(string change)
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Do(context =>
        {
            var response = (FastCgiResponse)context.Features.GetRequiredFeature<IHttpResponseFeature>();
            var thread = new Thread(() => Change(response, change)) { IsBackground = true };
            using (((FastCgiRequest)context.Features.GetRequiredFeature<IHttpRequestFeature>()).EnterLock())
            {
                thread.Start();
                Assert.True(
                    SpinWait.SpinUntil(() => thread.ThreadState.HasFlag(ThreadState.WaitSleepJoin), Waiting.Patience),
                    "It did not wait.");
            }

            Assert.True(thread.Join(Waiting.Patience));
        }));

        Assert.InRange((await frontEnd.AskAsync()).Status, 200, 201);
    }

    /// <summary>
    /// Headers are not locked, so of those set while the response starts, some may be lost. But those set before are
    /// sent, later ones are refused, and no other response gets any of them.
    /// </summary>
    [Theory, Values(false, true)]
    public async Task Set_WhileAnotherThreadStarts_SpoilsAtMostItsOwnResponse(bool isEncodingChosen)
    {
        await using var server = await TestServer.StartAsync(
            context => context.Request.Path == "/racing" ? SetWhileStartingAsync(context) : SetAsync(context),
            options => options.ResponseHeaderEncodingSelector =
                isEncodingChosen ? static _ => Encoding.UTF8 : options.ResponseHeaderEncodingSelector);
        var racing = server.Connect();
        var other = server.Connect();

        for (var round = 0; round < ManyRounds; round++)
        {
            var spoiled = Task.Run(() => racing.AskAsync(RecordBytes.Get(uri: "/racing")));
            AssertIsWhole(await other.AskAsync(), "Y", "w", SetBefore, SetBefore);
            var response = await spoiled.Within("the racing request");
            AssertIsWhole(response, "X", "v", SetBefore, int.Parse(response.Text, CultureInfo.InvariantCulture));
        }
    }

    /// <summary>The response has the names from 0 to at least and at most these numbers, each once.</summary>
    private static void AssertIsWhole(WireResponse response, string prefix, string value, int atLeast, int atMost)
    {
        var names = response.Headers.Select(static header => header.Key).Where(static name => name[1] == '-').ToList();
        Assert.InRange(names.Count, atLeast, atMost);
        Assert.Equal(Enumerable.Range(0, names.Count).Select(number => Name(prefix, number)), names);
        Assert.All(names, name => Assert.Equal(value, response[name]));
    }

    private static string Name(string prefix, int number)
        => string.Create(CultureInfo.InvariantCulture, $"{prefix}-{number}");

    private static void SetBeforeStart(HttpContext context, string prefix, string value)
    {
        for (var i = 0; i < SetBefore; i++)
            context.Response.Headers[Name(prefix, i)] = value;
    }

    private static Task SetAsync(HttpContext context)
    {
        SetBeforeStart(context, "Y", "w");
        return context.Response.StartAsync();
    }

    private static async Task SetWhileStartingAsync(HttpContext context)
    {
        SetBeforeStart(context, "X", "v");
        var headers = context.Response.Headers;
        using var start = new Barrier(2);
        var setter = Task.Factory.StartNew(
            () =>
            {
                start.SignalAndWait(Waiting.Patience);
                return SetUntilRefused(headers);
            },
            TaskCreationOptions.LongRunning);
        start.SignalAndWait(Waiting.Patience);
        await context.Response.StartAsync();
        var accepted = await setter;
        Assert.Throws<InvalidOperationException>(() => headers[Name("X", accepted)] = "v");
        await context.Response.WriteAsync(accepted.ToString(CultureInfo.InvariantCulture));
    }

    private static int SetUntilRefused(IHeaderDictionary headers)
    {
        var count = SetBefore;
        try
        {
            while (count < SetAtMost)
            {
                headers[Name("X", count)] = "v";
                count++;
            }
        }
        catch (InvalidOperationException)
        {
        }

        return count;
    }

    private static void Change(FastCgiResponse response, string change)
    {
        if (change == "starting")
            response.OnStarting(static _ => Task.CompletedTask, new object());
        else if (change == "completed")
            response.OnCompleted(static _ => Task.CompletedTask, new object());
        else
            response.StartAsync().GetAwaiter().GetResult();
    }
}
