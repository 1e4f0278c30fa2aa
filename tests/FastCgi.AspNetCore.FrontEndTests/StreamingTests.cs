using System.Net.ServerSentEvents;
using System.Runtime.CompilerServices;

namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>Responses that are sent piece by piece: the client has each piece before the next one is written.</summary>
public sealed class StreamingTests(ITestOutputHelper output) : FrontEndTest(output)
{
    // ASP.NET Core's result turns buffering off. nginx honors this; other web servers must be configured.
    [Theory]
    [EveryFrontEnd(Needs = [Ability.BufferingHeader])]
    [EveryFrontEnd(StreamsResponses = true)]
    public async Task ServerSentEvents_OneByOne_EachArrivesBeforeTheNextIsSent(FrontEndSetup setup)
    {
        var received = new SemaphoreSlim(0);
        var site = await StartAsync(
            setup, app => app.MapGet("/", () => TypedResults.ServerSentEvents(SendAsync(received))));

        await using var stream = await site.Client.GetStreamAsync("/").WaitAsync(Patience);
        var events = SseParser.Create(stream).EnumerateAsync().GetAsyncEnumerator();
        for (var i = 1; i <= 3; i++)
        {
            Assert.True(await events.MoveNextAsync().AsTask().WaitAsync(Patience));
            Assert.Equal($"event {i}", events.Current.Data);
            received.Release();
        }

        Assert.False(await events.MoveNextAsync().AsTask().WaitAsync(Patience));
    }

    [Theory, EveryFrontEnd(StreamsResponses = true, Needs = [Ability.EarlyHeaders])]
    public async Task Flush_OfTheHeaders_ReachesTheClientBeforeTheBody(FrontEndSetup setup)
    {
        var headersAreRead = new TaskCompletionSource();
        var site = await StartAsync(setup, app => app.MapGet("/", async (HttpResponse response) =>
        {
            await response.Body.FlushAsync();
            await headersAreRead.Task.WaitAsync(Patience);
            await response.WriteAsync("body");
        }));

        using var response = await site.Client.GetAsync("/", HttpCompletionOption.ResponseHeadersRead)
            .WaitAsync(Patience);
        headersAreRead.SetResult();

        Assert.Equal("body", await response.Content.ReadAsStringAsync().WaitAsync(Patience));
    }

    private static async IAsyncEnumerable<string> SendAsync(
        SemaphoreSlim received, [EnumeratorCancellation] CancellationToken cancellationToken = default)
    {
        for (var i = 1; i <= 3; i++)
        {
            yield return $"event {i}";
            Assert.True(await received.WaitAsync(Patience, cancellationToken));
        }
    }
}
