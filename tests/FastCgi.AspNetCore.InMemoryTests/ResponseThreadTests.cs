using ThreadState = System.Threading.ThreadState;

namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>Status, headers and callbacks that two threads of one request change: each change is sent, or refused.</summary>
public class ResponseThreadTests
{
    private const int Rounds = 300;

    public static TheoryData<string> Changes => [.. ChangesOf(null!).Keys];

    [Theory]
    [MemberData(nameof(Changes))]
    public async Task Change_WhileTheResponseStarts_Waits(string change)
    {
        await using var frontEnd = await TestServer.ConnectAsync(context =>
        {
            var response = (FastCgiResponse)context.Features.GetRequiredFeature<IHttpResponseFeature>();
            var thread = new Thread(() => ChangesOf(response)[change]()) { IsBackground = true };
            using (response.Output.EnterLock())
            {
                thread.Start();
                Assert.True(SpinWait.SpinUntil(() => thread.ThreadState.HasFlag(ThreadState.WaitSleepJoin), Waiting.Patience), "It did not wait.");
            }

            Assert.True(thread.Join(Waiting.Patience));
            return Task.CompletedTask;
        });

        Assert.InRange((await frontEnd.AskAsync()).Status, 200, 201);
    }

    [Theory]
    [InlineData(false, int.MaxValue)]
    [InlineData(true, 3)]
    public async Task Set_WhileAnotherThreadStarts_IsSentOrRefused(bool isEncodingChosen, int max)
    {
        await using var frontEnd = await TestServer.ConnectAsync(
            async context =>
            {
                // HttpResponse itself is not made for two threads that use it first.
                _ = context.Response.Headers;
                using var start = new Barrier(2);
                var setter = Task.Factory.StartNew(
                    () =>
                    {
                        start.SignalAndWait(Waiting.Patience);
                        return SetUntilRefused(context.Response, max);
                    },
                    TaskCreationOptions.LongRunning);
                start.SignalAndWait(Waiting.Patience);
                await context.Response.StartAsync();
                await context.Response.WriteAsync($"accepted {await setter}");
            },
            options => options.ResponseHeaderEncodingSelector = isEncodingChosen ? static _ => Encoding.UTF8 : options.ResponseHeaderEncodingSelector);

        for (var round = 0; round < Rounds; round++)
        {
            var response = await frontEnd.AskAsync();
            var sent = 0;
            while (response[$"X-{sent}"] is not null)
                sent++;

            Assert.Equal($"accepted {sent}", response.Text);
        }
    }

    /// <summary>What is asked of the application for the start of the response is asked again.</summary>
    [Fact]
    public async Task Set_WhileTheEncodingIsChosen_IsSent()
    {
        HttpResponse? starting = null;
        var response = await TestServer.AskAsync(
            async context =>
            {
                context.Response.Headers["X-First"] = "1";
                starting = context.Response;
                await context.Response.WriteAsync("hello");
            },
            options => options.ResponseHeaderEncodingSelector = _ =>
            {
                if (Interlocked.Exchange(ref starting, null) is { } response)
                    response.Headers["X-Second"] = "2";
                return Encoding.UTF8;
            });

        Assert.Equal(("1", "2", "hello"), (response["X-First"], response["X-Second"], response.Text));
    }

    /// <summary>An application that changes the headers each time it is asked cannot hold its response up.</summary>
    [Fact]
    public async Task Set_EachTimeTheEncodingIsChosen_TheResponseStarts()
    {
        HttpContext? current = null;
        var isInside = false;
        var count = 0;
        var response = await TestServer.AskAsync(
            async context =>
            {
                context.Response.Headers["X-First"] = "1";
                current = context;
                await context.Response.WriteAsync("hello");
            },
            options => options.ResponseHeaderEncodingSelector = _ =>
            {
                if (current is null || isInside)
                    return Encoding.UTF8;

                isInside = true;
                current.Response.Headers[string.Create(CultureInfo.InvariantCulture, $"X-{count++}")] = "v";
                isInside = false;
                return Encoding.UTF8;
            });

        Assert.Equal(("1", "hello"), (response["X-First"], response.Text));
    }

    /// <summary>The framework sets the content type when the handler awaits, while what follows the await sets headers on another thread.</summary>
    [Fact]
    public async Task Set_BehindAnAwaitThatIsOverAtOnce_IsSent()
    {
        await using var frontEnd = await TestServer.ConnectAsync(
            static app =>
            {
                app.UseRouting();
                app.UseEndpoints(static endpoints => endpoints.MapGet("/text", static async (HttpContext context) =>
                {
                    // HttpResponse itself is not made for two threads that use it first.
                    _ = context.Response.Headers;
                    await Task.Yield();
                    context.Response.Headers["X-One"] = "1";
                    context.Response.Headers["X-Two"] = "2";
                    return "hello";
                }));
            },
            services: static services => services.AddRouting());

        for (var round = 0; round < Rounds; round++)
        {
            var response = await frontEnd.AskAsync(RecordBytes.Get(uri: "/text"));
            Assert.Equal(("1", "2", "text/plain; charset=utf-8", "hello"), (response["X-One"], response["X-Two"], response["Content-Type"], response.Text));
        }
    }

    [Fact]
    public async Task OnStarting_RegisteredByTwoThreads_EachIsCalled()
    {
        const int Count = 50;
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            var called = 0;
            // The framework's own cache of features is not for two threads that fill it.
            var response = context.Features.GetRequiredFeature<IHttpResponseFeature>();
            await Task.WhenAll(Enumerable.Range(0, 2).Select(_ => Task.Run(() =>
            {
                for (var i = 0; i < Count; i++)
                {
                    response.OnStarting(
                        _ =>
                        {
                            called++;
                            return Task.CompletedTask;
                        },
                        response);
                }
            })));
            await context.Response.StartAsync();
            await context.Response.WriteAsync(called.ToString(CultureInfo.InvariantCulture));
        });

        for (var round = 0; round < Rounds; round++)
            Assert.Equal("100", (await frontEnd.AskAsync()).Text);
    }

    private static int SetUntilRefused(HttpResponse response, int max)
    {
        var count = 0;
        for (; count < max; count++)
        {
            try
            {
                response.Headers[string.Create(CultureInfo.InvariantCulture, $"X-{count}")] = "v";
            }
            catch (InvalidOperationException)
            {
                break;
            }
        }

        return count;
    }

    private static Dictionary<string, Action> ChangesOf(FastCgiResponse response) => new()
    {
        ["status"] = () => response.StatusCode = 201,
        ["reason"] = () => response.ReasonPhrase = "Fine",
        ["header"] = () => response.Headers["X-One"] = "1",
        ["length"] = () => response.Headers.ContentLength = 0,
        ["starting"] = () => response.OnStarting(static _ => Task.CompletedTask, new object()),
        ["completed"] = () => response.OnCompleted(static _ => Task.CompletedTask, new object()),
        ["start"] = () => response.StartAsync().GetAwaiter().GetResult(),
    };
}
