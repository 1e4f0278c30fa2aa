using System.Net;
using System.Security.Cryptography;

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
        while (progress.GoesOn)
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
        < 50 => GetAsync(
            client,
            "/hello",
            200,
            static body => body.SequenceEqual(System.Text.Encoding.ASCII.GetBytes(SoakApplication.Hello))),
        < 65 => UploadAsync(client, _random.Next(2_000)),
        < 68 => UploadAsync(client, _random.Next(50_000, 400_000)),
        < 72 => DownloadAsync(client, _random.Next(50_000, 1_000_000)),
        < 76 => GetAsync(client, "/events", 200, static body => body.Length == 9 * SoakApplication.EventCount),
        < 78 => LeaveAsync(client),
        < 84 => HeadAsync(client),
        < 90 => GetAsync(client, "/missing", 404, static _ => true),
        _ => GetAsync(client, "/session", 200, static body => body.AsSpan().StartsWith("<p>"u8)),
    };

    private async Task GetAsync(HttpClient client, string uri, int status, Func<byte[], bool> isRight)
    {
        using var response = await client.GetAsync(uri);
        var body = await response.Content.ReadAsByteArrayAsync();
        progress.Count("nginx", (int)response.StatusCode == status && isRight(body), response.StatusCode);
    }

    private Task DownloadAsync(HttpClient client, int length)
        => GetAsync(
            client,
            $"/download?length={length}",
            200,
            body => body.AsSpan().SequenceEqual(SoakApplication.GetContent(length)));

    private async Task HeadAsync(HttpClient client)
    {
        using var request = new HttpRequestMessage(HttpMethod.Head, "/hello");
        using var response = await client.SendAsync(request);
        progress.Count(
            "nginx",
            response.StatusCode == HttpStatusCode.OK && (await response.Content.ReadAsByteArrayAsync()).Length == 0,
            response.StatusCode);
    }

    private async Task UploadAsync(HttpClient client, int length)
    {
        var body = SoakApplication.GetContent(length).ToArray();
        using var response = await client.PostAsync("/upload", new ByteArrayContent(body));
        var text = await response.Content.ReadAsStringAsync();
        progress.Count("nginx", text == $"{length} {Convert.ToHexString(SHA256.HashData(body))}", text);
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
