using System.Collections.Concurrent;
using System.Security.Cryptography;

namespace FastCgi.AspNetCore.ProcessTests.Faults;

/// <summary>
/// Clients of every kind, which send requests until stopped. Each response must be correct; a connection that is closed
/// or reset instead counts as lost.
/// </summary>
internal sealed class FaultLoad : IAsyncDisposable
{
    private const int LargeLength = 1_500_000;
    private const int BlockLength = 16 * 1024;

    private readonly FaultedServer _server;
    private readonly CancellationTokenSource _end = new();
    private readonly ConcurrentDictionary<int, long> _answers = new();
    private readonly ConcurrentQueue<string> _losses = new();
    private readonly List<Task> _clients;

    private FaultLoad(FaultedServer server, Func<FastCgiClient, Task>[] kinds)
    {
        _server = server;
        _clients = [.. Enumerable.Range(0, 2 * kinds.Length).Select(i => Task.Run(
            () => RunAsync(i, kinds[i % kinds.Length], isKept: i < kinds.Length)))];
    }

    /// <summary>Connections that ended without a response, with the reason.</summary>
    public IReadOnlyCollection<string> Losses => _losses;

    public long Answers => _answers.Values.Sum();

    /// <param name="more">Further kinds of requests.</param>
    public static FaultLoad Start(FaultedServer server, params IEnumerable<Func<FastCgiClient, Task>> more)
        => new(server, [SmallAsync, SmallAsync, PostAsync, LargeAsync, BlockAsync, PeerAsync, .. more]);

    /// <summary>Waits for an effect of the load. Fails if a client gets a wrong response, or none.</summary>
    public Task WaitAsync(Func<bool> condition, string what) => Waiting.UntilAsync(
        () => Task.FromResult(condition()),
        () => _server.HasExited
            ? "The server has ended: " + _server.Output
            : _clients.Find(static client => client.IsFaulted)?.Exception?.ToString(),
        what);

    /// <summary>Waits until each client has received another response, so that none hangs.</summary>
    public Task WaitForEachAsync()
    {
        var before = _answers.ToDictionary();
        return WaitAsync(
            () => Enumerable.Range(0, _clients.Count)
                .All(i => _answers.GetValueOrDefault(i) > before.GetValueOrDefault(i) + 1),
            "each client to be answered");
    }

    public async Task EndAsync()
    {
        await _end.CancelAsync();
        await Task.WhenAll(_clients).WaitAsync(Waiting.Patience);
    }

    public async ValueTask DisposeAsync()
    {
        await _end.CancelAsync();
        await Task.WhenAll(_clients).WaitAsync(Waiting.Patience).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        _end.Dispose();
    }

    private async Task RunAsync(int number, Func<FastCgiClient, Task> send, bool isKept)
    {
        FastCgiClient? client = null;
        while (!_end.IsCancellationRequested)
        {
            try
            {
                client ??= await _server.ConnectAsync();
                await send(client);
                _answers.AddOrUpdate(number, 1, static (_, count) => count + 1);
                if (isKept)
                    continue;
            }
            catch (Exception exception) when (exception is IOException or SocketException)
            {
                _losses.Enqueue($"{send.Method.Name}: {exception.Message}");
            }

            client?.Dispose();
            client = null;
        }

        client?.Dispose();
    }

    private static async Task SmallAsync(FastCgiClient client)
        => Assert.Equal(Pattern(100), Encoding.Latin1.GetBytes(await GetAsync(client, "/bytes/100")));

    private static async Task BlockAsync(FastCgiClient client)
        => Assert.Equal("awake", await GetAsync(client, "/block/3"));

    /// <summary>Without REMOTE_ADDR, the server asks the system for the peer.</summary>
    private static async Task PeerAsync(FastCgiClient client)
    {
        var parameters = RecordBytes.RequestParams(uri: "/peer")
            .Where(static pair => pair.Name is not ("REMOTE_ADDR" or "REMOTE_PORT"))
            .ToArray();
        await client.SendAsync(
            [
                .. RecordBytes.Begin(), .. RecordBytes.ParamsStream(1, parameters),
                .. RecordBytes.Record(RecordBytes.Stdin, 1),
            ]);
        Assert.Contains(await client.ReadTextAsync(), new[] { "127.0.0.1", "none" });
    }

    private static async Task PostAsync(FastCgiClient client)
    {
        var body = new byte[120_000];
        Random.Shared.NextBytes(body);
        await client.SendAsync(RecordBytes.Post(1, "/echo", body));
        Assert.EndsWith(Convert.ToHexString(SHA256.HashData(body)), await client.ReadTextAsync());
    }

    /// <summary>More than the socket's buffer, so that the server waits.</summary>
    private static async Task LargeAsync(FastCgiClient client)
    {
        await client.SendAsync($"/bytes/{LargeLength}");
        var body = await client.ReadBodyAsync();
        Assert.Equal(LargeLength, body.Length);
        var block = Pattern(BlockLength);
        for (var i = 0; i < body.Length; i += BlockLength)
            Assert.True(
                body.AsSpan(i, Math.Min(BlockLength, body.Length - i))
                    .SequenceEqual(block.AsSpan(0, Math.Min(BlockLength, body.Length - i))),
                "The body is not what was sent.");
    }

    private static async Task<string> GetAsync(FastCgiClient client, string uri)
    {
        await client.SendAsync(uri);
        return Encoding.Latin1.GetString(await client.ReadBodyAsync());
    }

    private static byte[] Pattern(int length)
    {
        var bytes = new byte[length];
        for (var i = 0; i < length; i++)
            bytes[i] = (byte)i;
        return bytes;
    }
}
