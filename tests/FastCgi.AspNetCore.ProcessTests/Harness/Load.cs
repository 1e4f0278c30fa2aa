using System.Collections.Concurrent;
using System.Net.Http.Json;

namespace FastCgi.AspNetCore.ProcessTests.Harness;

/// <summary>
/// Clients that send requests one after another until stopped, and record each wrong response:
/// GET and POST, with persistent and new connections to the web server and to the application.
/// </summary>
internal sealed class Load : IAsyncDisposable
{
    private const int ClientsOfAKind = 2;

    // Without a pause, the clients would leave no CPU time for the starting instances.
    private static readonly TimeSpan s_pause = TimeSpan.FromMilliseconds(10);

    private readonly CancellationTokenSource _end = new();
    private readonly ConcurrentQueue<Failure> _failures = new();
    private readonly HttpClient _client;
    private readonly List<Task> _clients = [];
    private long _count;

    private Load(IPEndPoint frontEnd)
    {
        _client = new HttpClient(
            new SocketsHttpHandler { UseProxy = false, UseCookies = false, MaxConnectionsPerServer = int.MaxValue })
        {
            BaseAddress = new Uri($"http://{frontEnd}"),
        };
        foreach (var host in new[] { "www.kept", "www.single" })
        {
            foreach (var method in new[] { HttpMethod.Get, HttpMethod.Post })
            {
                foreach (var isKept in new[] { true, false })
                    _clients.AddRange(Enumerable.Range(0, ClientsOfAKind).Select(_ => Task.Run(
                        () => RunAsync(host, method, isKept))));
            }
        }
    }

    /// <summary>A request with a wrong response.</summary>
    public sealed record Failure(long BegunAt, string Request, string Reason);

    /// <summary>The number of requests so far.</summary>
    public long Count => Interlocked.Read(ref _count);

    public IReadOnlyCollection<Failure> Failures => _failures;

    public static Load Start(IPEndPoint frontEnd) => new(frontEnd);

    public Task WaitForAsync(long count) => Waiting.UntilAsync(() => Count >= count, $"{count} requests");

    /// <summary>Lets each client finish its last request.</summary>
    public async Task EndAsync()
    {
        await _end.CancelAsync();
        await Task.WhenAll(_clients).WaitAsync(Waiting.Patience);
    }

    public async ValueTask DisposeAsync()
    {
        await EndAsync();
        _client.Dispose();
        _end.Dispose();
    }

    private async Task RunAsync(string host, HttpMethod method, bool isKept)
    {
        for (var number = 1; !_end.IsCancellationRequested; number++)
        {
            var begunAt = Stopwatch.GetTimestamp();
            var reason = await SendAsync(host, method, isKept, number);
            Interlocked.Increment(ref _count);
            if (reason is not null)
                _failures.Enqueue(new Failure(begunAt, $"{method} {host} {(isKept ? "kept" : "not kept")}", reason));
            await Task.Delay(s_pause);
        }
    }

    /// <returns>What is wrong with the response, or null.</returns>
    private async Task<string?> SendAsync(string host, HttpMethod method, bool isKept, int number)
    {
        using var request = new HttpRequestMessage(method, method == HttpMethod.Post ? "/orders" : $"/whoami/{number}");
        request.Headers.Host = host;
        request.Headers.ConnectionClose = !isKept;
        var expected = $"\"path\":\"/whoami/{number}\"";
        if (method == HttpMethod.Post)
        {
            request.Content = JsonContent.Create(new { item = "tea", quantity = number, price = 2 });
            expected = $"\"total\":{number * 2}";
        }

        try
        {
            using var response = await _client.SendAsync(request);
            var text = await response.Content.ReadAsStringAsync();
            return response.IsSuccessStatusCode && text.Contains(expected) ? null : $"{response.StatusCode}: {text}";
        }
        catch (HttpRequestException exception)
        {
            return exception.ToString();
        }
    }
}
