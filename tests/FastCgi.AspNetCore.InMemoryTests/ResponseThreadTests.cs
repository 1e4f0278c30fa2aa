using ThreadState = System.Threading.ThreadState;

namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>Two threads change status, headers and callbacks: each change is sent or refused.</summary>
public class ResponseThreadTests
{
    private const int Rounds = 300;

    public static TheoryData<string> Changes => [.. ChangesOf(null!).Keys];

    [Theory]
    [MemberData(nameof(Changes))]
    public async Task Change_WhileTheResponseStarts_Waits(string change)
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Do(context =>
        {
            var response = (FastCgiResponse)context.Features.GetRequiredFeature<IHttpResponseFeature>();
            var thread = new Thread(() => ChangesOf(response)[change]()) { IsBackground = true };
            using (response.Output.EnterLock())
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
            options => options.ResponseHeaderEncodingSelector =
                isEncodingChosen ? static _ => Encoding.UTF8 : options.ResponseHeaderEncodingSelector);

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
