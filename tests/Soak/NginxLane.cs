using System.Net;
using System.Security.Cryptography;
using System.Text;

namespace FastCgi.AspNetCore.Soak;

/// <summary>Sends requests as a browser does, through nginx, and checks each answer.</summary>
internal sealed class NginxLane(IPEndPoint endPoint, Progress progress, int seed)
{
    /// <summary>The number of idle connections that nginx keeps, as configured.</summary>
    public const int KeptConnections = 16;

    private readonly Random _random = new(seed);

    /// <summary>Runs until there are enough requests.</summary>
    public async Task RunAsync()
    {
        using var handler = new SocketsHttpHandler { UseCookies = true };
        using var client = new HttpClient(handler)
        {
            BaseAddress = new Uri($"http://{endPoint}"),
            Timeout = Waiting.Patience,
        };
        while (progress.IsRunning)
        {
            try
            {
                await StepAsync(client);
            }
            catch (Exception exception)
            {
                progress.Fail($"nginx: {exception.GetType().Name}: {exception.Message}");
            }
        }
    }

    private Task StepAsync(HttpClient client) => _random.Next(100) switch
    {
        < 60 => SendAsync(client, HttpMethod.Get, "/hello", static body => body.AsSpan().StartsWith("Hello"u8)),
        < 75 => UploadAsync(client, _random.Next(2_000)),
        < 78 => UploadAsync(client, _random.Next(50_000, 400_000)),
        < 82 => DownloadAsync(client, _random.Next(50_000, 1_000_000)),
        < 86 => SendAsync(
            client, HttpMethod.Get, "/events", static body => body.Length == 9 * SoakApplication.EventCount),
        < 88 => LeaveAsync(client),
        < 94 => SendAsync(client, HttpMethod.Head, "/hello", static body => body.Length == 0),
        _ => SendAsync(client, HttpMethod.Get, "/session", static body => body.AsSpan().StartsWith("<p>"u8)),
    };

    private async Task SendAsync(
        HttpClient client, HttpMethod method, string uri, Func<byte[], bool> isRight, HttpContent? content = null)
    {
        using var request = new HttpRequestMessage(method, uri) { Content = content };
        using var response = await client.SendAsync(request);
        var body = await response.Content.ReadAsByteArrayAsync();
        progress.Count("nginx", response.IsSuccessStatusCode && isRight(body), response.StatusCode);
    }

    private Task DownloadAsync(HttpClient client, int length)
        => SendAsync(
            client,
            HttpMethod.Get,
            $"/download?length={length}",
            body => body.AsSpan().SequenceEqual(SoakApplication.GetContent(length)));

    private Task UploadAsync(HttpClient client, int length)
    {
        var body = SoakApplication.GetContent(length).ToArray();
        var expected = Encoding.ASCII.GetBytes($"{length} {Convert.ToHexString(SHA256.HashData(body))}");
        return SendAsync(
            client,
            HttpMethod.Post,
            "/upload",
            answer => answer.AsSpan().SequenceEqual(expected),
            new ByteArrayContent(body));
    }

    /// <summary>The client disconnects while the handler runs.</summary>
    private async Task LeaveAsync(HttpClient client)
    {
        using var source = new CancellationTokenSource(TimeSpan.FromMilliseconds(5));
        try
        {
            using var response = await client.GetAsync("/wait", source.Token);
            progress.Count("nginx", isRight: false, response.StatusCode);
        }
        catch (OperationCanceledException) when (source.IsCancellationRequested)
        {
            progress.Count("nginx", isRight: true, "");
        }
    }
}
