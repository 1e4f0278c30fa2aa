namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>
/// A hostile client hides a request in another one by specifying the length in two ways. After a request that closes
/// the connection, nothing may reach the application, whichever length the web server uses.
/// </summary>
public sealed class SmugglingTests(ITestOutputHelper output) : FrontEndTest(output)
{
    private const string Hidden = "GET /hidden HTTP/1.1\r\nHost: localhost\r\n\r\n";

    private static readonly (string Name, string Fields, string Body)[] s_requests =
    [
        ("a length and chunks", $"Content-Length: {5 + Hidden.Length}\r\nTransfer-Encoding: chunked",
            "0\r\n\r\n" + Hidden),
        (
            "chunks and a short length",
            "Transfer-Encoding: chunked\r\nContent-Length: 4",
            "1\r\nx\r\n0\r\n\r\n" + Hidden),
        ("chunks behind a space", "Content-Length: 5\r\nTransfer-Encoding : chunked", "0\r\n\r\n" + Hidden),
        ("chunks of another name", "Content-Length: 5\r\nTransfer-Encoding: xchunked", "0\r\n\r\n" + Hidden),
        ("chunks on a folded line", "Content-Length: 5\r\nTransfer-Encoding:\r\n chunked", "0\r\n\r\n" + Hidden),
        ("chunks behind a bare line feed", "Content-Length: 5\r\nX-Any: a\nTransfer-Encoding: chunked",
            "0\r\n\r\n" + Hidden),
        ("two lengths", $"Content-Length: 0\r\nContent-Length: {Hidden.Length}", Hidden),
        ("a length with a sign", $"Content-Length: +{Hidden.Length}", Hidden),
        ("a length as a field with an underscore", $"Content_Length: {Hidden.Length}\r\nContent-Length: 0", Hidden),
    ];

    [Theory, EveryFrontEnd(IsHttp1 = true)]
    public async Task Post_HidesAnotherRequest_OnlyTheFirstReachesTheApplication(FrontEndSetup setup)
    {
        var seen = new ConcurrentQueue<string>();
        var site = await StartAsync(setup, app => app.Run(async context =>
        {
            seen.Enqueue(context.Request.Path.Value!);
            await context.Request.Body.CopyToAsync(Stream.Null);
        }));

        foreach (var (name, fields, body) in s_requests)
        {
            seen.Clear();
            using var client = await site.ConnectAsync();
            await client.SendAsync(
                $"POST /first HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{fields}\r\n\r\n{body}");
            await ReadToEndAsync(client);
            Assert.True(
                seen.Count <= 1 && seen.All(static path => path == "/first"), $"{name}: {string.Join(", ", seen)}");
        }
    }

    private static async Task ReadToEndAsync(Application.RawHttpClient client)
    {
        try
        {
            await client.ReadToEndAsync();
        }
        catch (IOException)
        {
            // A web server that refuses the request may reset the connection.
        }
    }
}
