using System.Net.Sockets;

namespace FastCgi.Client.Tests;

/// <summary>A caller gives a request up in the moment in which its answer ends: the connection is closed, or the next request has it, but not both.</summary>
public sealed class AbandonStressTests
{
    private const int Steps = 1_000;

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    public async Task Request_GivenUpWhileItEnds_TakesNoOtherWithIt(int perConnection)
    {
        using var application = new ScriptedApplication();
        using var client = new FastCgiClient(application.Address, new FastCgiClientOptions
        {
            MaxConnections = 1,
            MaxRequestsPerConnection = perConnection,
            Multiplexing = FastCgiMultiplexing.Always,
        });
        using var end = new CancellationTokenSource();
        var serving = ServeAsync(application, end.Token);
        var random = new Random(perConnection);
        for (var step = 0; step < Steps; step++)
        {
            using var cancellation = new CancellationTokenSource();
            var given = client.SendAsync(Requests.Create(), cancellation.Token);
            var delay = random.Next(200);
            var leaving = Task.Run(() =>
            {
                Wait(delay);
                cancellation.Cancel();
            });
            Wait(random.Next(200));
            var next = Enumerable.Range(0, 2).Select(_ => AskAsync(client)).ToArray();
            await leaving;
            try
            {
                (await given).Dispose();
            }
            catch (OperationCanceledException)
            {
                // In time.
            }

            Assert.Equal(["hello", "hello"], await Task.WhenAll(next).Within("the next"));
        }

        client.Dispose();
        await end.CancelAsync();
        await serving.Within("the end");
    }

    /// <summary>A request that must not be sent twice: what happens to its connection happens to it.</summary>
    private static async Task<string> AskAsync(FastCgiClient client)
    {
        using var response = await client.SendAsync(Requests.Create("POST", body: new MemoryStream([1])));
        return await response.ReadTextAsync();
    }

    private static void Wait(int time)
    {
        for (; time > 0; time--)
            Thread.SpinWait(10);
    }

    private static async Task ServeAsync(ScriptedApplication application, CancellationToken end)
    {
        while (!end.IsCancellationRequested)
        {
            try
            {
                _ = AnswerAsync(await application.AcceptAsync(end));
            }
            catch (OperationCanceledException)
            {
                return;
            }
        }
    }

    private static async Task AnswerAsync(ScriptedConnection connection)
    {
        try
        {
            while (await connection.ReadRecordAsync() is { } record)
            {
                if (record is { Type: Stdin, Content.Length: 0 })
                    await connection.SendAsync(ScriptedConnection.Answer("A: b\n\nhello", record.Id));
            }
        }
        catch (SocketException)
        {
            // The client has closed it.
        }
    }
}
