namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>Many clients at once.</summary>
public sealed class ConcurrencyTests(ITestOutputHelper output) : FrontEndTest(output)
{
    private const int ClientCount = 100;
    private const int RequestsPerClient = 10;

    [Theory, EveryFrontEnd]
    public async Task Post_100Clients_EachGetsItsResponses(FrontEndSetup setup)
    {
        var allAreHere = new Barrier();
        var site = await StartAsync(setup, app => app.MapPost("/{token}", async (string token, HttpContext context) =>
        {
            // The first requests of all clients are under way together.
            await allAreHere.WaitAsync();
            using var reader = new StreamReader(context.Request.Body);
            context.Response.Headers["X-Token"] = token;
            return $"{token} {context.Request.Headers["X-Token"]} {await reader.ReadToEndAsync()}";
        }));

        await Task.WhenAll(Enumerable.Range(0, ClientCount).Select(async client =>
        {
            for (var i = 0; i < RequestsPerClient; i++)
                await AssertEchoAsync(site.Client, $"client-{client}-request-{i}");
        })).WaitAsync(Patience);
    }

    private static async Task AssertEchoAsync(HttpClient client, string token)
    {
        using var request = new HttpRequestMessage(HttpMethod.Post, "/" + token);
        request.Headers.Add("X-Token", token);
        request.Content = new StringContent(token, Encoding.UTF8);
        using var response = await client.SendAsync(request);

        Assert.Equal($"{token} {token} {token}", await response.Content.ReadAsStringAsync());
        Assert.Equal(token, Assert.Single(response.Headers.GetValues("X-Token")));
    }

    /// <summary>Holds the first requests until each client has sent one.</summary>
    private sealed class Barrier
    {
        private readonly TaskCompletionSource _isComplete = new(TaskCreationOptions.RunContinuationsAsynchronously);
        private int _count;

        public Task WaitAsync()
        {
            if (Interlocked.Increment(ref _count) == ClientCount)
                _isComplete.SetResult();
            return _isComplete.Task.WaitAsync(Patience);
        }
    }
}
