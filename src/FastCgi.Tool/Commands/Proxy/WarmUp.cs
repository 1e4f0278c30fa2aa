using System.Runtime.ExceptionServices;

namespace FastCgi.Tool.Commands.Proxy;

/// <summary>Serves two requests before the proxy listens, because .NET cannot load code without descriptors.</summary>
internal static class WarmUp
{
    private static readonly TimeSpan s_timeout = TimeSpan.FromSeconds(2);

    public static async Task RunAsync(Func<FastCgiClient, TrafficLog, WebApplication> build, bool isJson)
    {
        using var timeout = new CancellationTokenSource(s_timeout);
        using var application = new TcpListener(IPAddress.Loopback, 0);
        try
        {
            application.Start();
            // A name, to load the resolver too.
            using var client = new FastCgiClient($"localhost:{((IPEndPoint)application.LocalEndpoint).Port}");
            var log = new TrafficLog(new ToolConsole(TextWriter.Null, TextWriter.Null, Stream.Null), isJson);
            await using var proxy = build(client, log);
            await proxy.StartAsync(timeout.Token);
            var asking = AskAsync(proxy, timeout.Token);
            using (var connection = await application.AcceptSocketAsync(timeout.Token))
                await RespondAsync(connection, timeout.Token);
            await asking;
            // The proxy responds to the second request with a 502.
            application.Stop();
            await AskAsync(proxy, timeout.Token);
            // A failed send or receive loads the reader of symbol files.
            ExceptionDispatchInfo.SetCurrentStackTrace(new SocketException());
            log.End();
            await log.RunAsync();
        }
        catch (Exception exception) when (exception is IOException or SocketException or OperationCanceledException)
        {
            // The proxy works without it.
        }
    }

    private static async Task RespondAsync(Socket connection, CancellationToken cancellationToken)
    {
        await connection.ReceiveAsync(new byte[ProtocolConstants.HeaderLength], cancellationToken);
        var output = CheckRecords.Record(RecordType.Stdout, 1, "A: b\n\nhello"u8);
        var end = CheckRecords.Record(RecordType.EndRequest, 1, new byte[ProtocolConstants.FixedBodyLength]);
        await connection.SendAsync((byte[])[.. output, .. end], cancellationToken);
    }

    private static async Task AskAsync(WebApplication proxy, CancellationToken cancellationToken)
    {
        using var browser = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        await browser.ConnectAsync(IPEndPoint.Parse(new Uri(proxy.Urls.First()).Authority), cancellationToken);
        var request = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n"u8.ToArray();
        await browser.SendAsync(request, cancellationToken);
        await browser.ReceiveAsync(new byte[1], cancellationToken);
    }
}
