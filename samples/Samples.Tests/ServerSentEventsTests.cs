namespace Samples.Tests;

public sealed class ServerSentEventsTests
{
    /// <summary>
    /// The second event is sent only when the first has been read, so that nothing between the two can have held it.
    /// </summary>
    [Fact]
    public async Task Event_Posted_ReachesAReaderOfAnOpenResponse()
    {
        await using var sample = await Sample.StartAsync("ServerSentEvents");
        using var client = sample.CreateClient();
        using var events = await client.GetAsync("news", HttpCompletionOption.ResponseHeadersRead);
        using var reader = new StreamReader(await events.Content.ReadAsStreamAsync());
        Assert.Equal("data: You are connected.", await ReadDataAsync(reader));

        using var posted = await client.PostAsync("news?headline=Rain", content: null);

        Assert.Equal("Sent to 1 readers.\n", await posted.Content.ReadAsStringAsync());
        Assert.Equal("data: Rain", await ReadDataAsync(reader));
        sample.AssertNothingIsWrong();
    }

    private static async Task<string?> ReadDataAsync(StreamReader reader)
    {
        string? line;
        do
            line = await reader.ReadLineAsync().Within("an event");
        while (line is not null && !line.StartsWith("data:", StringComparison.Ordinal));
        return line;
    }
}
