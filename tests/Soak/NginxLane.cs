using System.Net;
using System.Security.Cryptography;

namespace FastCgi.AspNetCore.Soak;

/// <summary>Sends requests as a browser does, through nginx, and checks each answer.</summary>
internal sealed class NginxLane(IPEndPoint endPoint, Progress progress, int seed)
{
    /// <summary>The idle connections that nginx keeps.</summary>
    public const int KeptConnections = 8;

    private const string Configuration =
        """
        daemon off;
        user root;
        pid nginx.pid;
        error_log error.log;
        worker_processes 1;
        events { worker_connections 512; }
        http {
          access_log off;
          client_body_temp_path body; fastcgi_temp_path fastcgi; proxy_temp_path proxy; scgi_temp_path scgi; uwsgi_temp_path uwsgi;
          upstream app { server APPLICATION; keepalive 8; }
          server {
            listen 127.0.0.1:PORT;
            client_max_body_size 10m;
            keepalive_requests 100000;
            location / {
              fastcgi_keep_conn on;
              fastcgi_param REQUEST_METHOD $request_method; fastcgi_param REQUEST_URI $request_uri; fastcgi_param QUERY_STRING $query_string;
              fastcgi_param CONTENT_TYPE $content_type; fastcgi_param CONTENT_LENGTH $content_length; fastcgi_param SERVER_PROTOCOL $server_protocol;
              fastcgi_param REMOTE_ADDR $remote_addr; fastcgi_param SERVER_NAME $server_name; fastcgi_param SERVER_PORT $server_port;
              fastcgi_pass app;
            }
          }
        }
        """;

    private readonly Random _random = new(seed);

    /// <summary>Starts nginx before an application.</summary>
    public static async Task<WebServerProcess> StartAsync(ScratchFolder folder, string application)
    {
        var nginx = new WebServerProcess(folder.Path);
        var text = Configuration.Replace("APPLICATION", application, StringComparison.Ordinal).Replace("PORT", $"{nginx.EndPoint.Port}", StringComparison.Ordinal);
        await File.WriteAllTextAsync(folder.GetPath("nginx.conf"), text);
        await nginx.StartAsync("nginx", ["-p", folder.Path + "/", "-c", "nginx.conf", "-e", "error.log"]);
        return nginx;
    }

    /// <summary>Runs until there are enough requests.</summary>
    public async Task RunAsync()
    {
        using var handler = new SocketsHttpHandler { UseCookies = true };
        using var client = new HttpClient(handler) { BaseAddress = new Uri($"http://{endPoint}"), Timeout = Waiting.Patience };
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
        < 50 => GetAsync(client, "/hello", 200, static body => body.SequenceEqual(System.Text.Encoding.ASCII.GetBytes(SoakApplication.Hello))),
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
        => GetAsync(client, $"/download?length={length}", 200, body => body.AsSpan().SequenceEqual(SoakApplication.GetContent(length)));

    private async Task HeadAsync(HttpClient client)
    {
        using var request = new HttpRequestMessage(HttpMethod.Head, "/hello");
        using var response = await client.SendAsync(request);
        progress.Count("nginx", response.StatusCode == HttpStatusCode.OK && (await response.Content.ReadAsByteArrayAsync()).Length == 0, response.StatusCode);
    }

    private async Task UploadAsync(HttpClient client, int length)
    {
        var body = SoakApplication.GetContent(length).ToArray();
        using var response = await client.PostAsync("/upload", new ByteArrayContent(body));
        var text = await response.Content.ReadAsStringAsync();
        progress.Count("nginx", text == $"{length} {Convert.ToHexString(SHA256.HashData(body))}", text);
    }

    /// <summary>The client goes away while the application works.</summary>
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
