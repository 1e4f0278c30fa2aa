namespace FastCgi.Client.Tests;

/// <summary>
/// Requests are canceled at any time, and the application closes or stays silent: the pool loses no slot.
/// </summary>
public sealed class PoolStressTests
{
    private const int MaxConnections = 2;

    [Theory]
    [InlineData(1, false)]
    [InlineData(2, true)]
    [InlineData(3, false)]
    [InlineData(4, true)]
    public async Task Room_AnyCancellation_IsThereAgain(int seed, bool keepsConnections)
    {
        using var folder = new ScratchFolder();
        using var listener = TestSockets.ListenUnix(folder.GetPath("app.sock"));
        var isGood = false;
        var open = 0;
        var serving = ServeAllAsync();
        var clock = new FakeClock();
        using (var client = new FastCgiClient("unix:" + folder.GetPath("app.sock"), new FastCgiClientOptions
        {
            MaxConnections = MaxConnections,
            KeepConnections = keepsConnections,
            TimeProvider = clock,
        }))
        {
            await Task.WhenAll(Enumerable.Range(0, 4).Select(thread => Task.Run(
                () => AskAsync(client, clock, new Random((seed * 4) + thread)))))
                .Within("the requests");
            Volatile.Write(ref isGood, true);
            for (var i = 0; i < 10; i++)
                await Task.WhenAll(Enumerable.Range(0, 2 * MaxConnections).Select(_ => client.GetAsync()))
                    .Within("good answers");
        }

        listener.Dispose();
        await serving.Within("the end");
        await Waiting.UntilAsync(() => Volatile.Read(ref open) == 0, "all connections to be closed");

        async Task ServeAllAsync()
        {
            var random = new Random(seed);
            try
            {
                while (true)
                {
                    var socket = await listener.AcceptAsync();
                    Interlocked.Increment(ref open);
                    _ = ServeAsync(new ScriptedConnection(socket), new Random(random.Next()));
                }
            }
            catch (Exception exception) when (exception is SocketException or ObjectDisposedException)
            {
            }
        }

        async Task ServeAsync(ScriptedConnection connection, Random random)
        {
            try
            {
                while (await connection.ReadRecordAsync() is { } record)
                {
                    var what = Volatile.Read(ref isGood) ? 9 : random.Next(10);
                    if (what == 0)
                        break;
                    if (record is { Type: Stdin, Content.Length: 0 } && what > 1)
                        await connection.SendAsync(ScriptedConnection.Answer("A: b\n\nhello"));
                    else if (record is { Type: Stdin, Content.Length: 0 })
                        break;
                }
            }
            catch (Exception exception) when (exception is IOException or SocketException)
            {
            }
            finally
            {
                connection.Dispose();
                Interlocked.Decrement(ref open);
            }
        }
    }

    private static async Task AskAsync(FastCgiClient client, FakeClock clock, Random random)
    {
        for (var i = 0; i < 300; i++)
        {
            using var cancellation = new CancellationTokenSource();
            var sending = client.SendAsync(Requests.Create(), cancellation.Token);
            for (var wait = random.Next(random.Next(2) == 0 ? 3 : 60); wait > 0 && !sending.IsCompleted; wait--)
                await Task.Yield();
            if (random.Next(20) == 0)
                clock.Advance(TimeSpan.FromMilliseconds(600));
            for (var wait = random.Next(2) * 2_000; wait > 0 && !sending.IsCompleted; wait--)
                await Task.Yield();
            await cancellation.CancelAsync();
            try
            {
                (await sending).Dispose();
            }
            catch (OperationCanceledException exception)
            {
                Assert.Equal(cancellation.Token, exception.CancellationToken);
            }
            catch (Exception exception) when (exception is FastCgiProtocolException or SocketException)
            {
            }
        }
    }
}
