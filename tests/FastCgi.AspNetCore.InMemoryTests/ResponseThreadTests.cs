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
    [InlineData(false)]
    [InlineData(true)]
    public async Task Set_WhileAnotherThreadStarts_IsSentOrRefused(bool isEncodingChosen)
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
                        return SetUntilRefused(context.Response);
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

    private static int SetUntilRefused(HttpResponse response)
    {
        for (var count = 0; ; count++)
        {
            try
            {
                response.Headers[string.Create(CultureInfo.InvariantCulture, $"X-{count}")] = "v";
            }
            catch (InvalidOperationException)
            {
                return count;
            }
        }
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
