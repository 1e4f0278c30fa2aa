using System.Text;

namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>Many clients at once.</summary>
public sealed class ConcurrencyTests(ITestOutputHelper output) : FrontEndTest(output)
{
    private const int ClientCount = 100;
    private const int RequestsPerClient = 10;

    [Theory, EveryFrontEnd]
    public async Task Post_100Clients_EachGetsItsOwnAnswers(FrontEndSetup setup)
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

    [Theory]
    [InlineData(false, true)]
    [InlineData(true, false)]
    [InlineData(true, true)]
    public async Task Ab_400KeptConnections_NothingFails(bool usesUnixSocket, bool keepsConnections)
    {
        var setup = new FrontEndSetup
        {
            Kind = FrontEndKind.Nginx,
            UsesUnixSocket = usesUnixSocket,
            KeepsConnections = keepsConnections,
        };
        var site = await StartAsync(setup, app => app.MapGet("/", () => "Hello"));

        var (exitCode, report) = await ExternalProgram.RunAsync("ab", "-q", "-k", "-c", "400", "-n", "20000", site.Url + "/");

        Assert.True(exitCode == 0, report);
        Assert.Matches("Complete requests: +20000\n", report);
        Assert.Matches("Failed requests: +0\n", report);
        Assert.DoesNotContain("Non-2xx", report, StringComparison.Ordinal);
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

    /// <summary>Holds the first requests until there is one of each client.</summary>
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
