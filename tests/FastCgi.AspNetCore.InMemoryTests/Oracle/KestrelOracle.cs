using Microsoft.AspNetCore.Hosting.Server.Features;

namespace FastCgi.AspNetCore.InMemoryTests.Oracle;

/// <summary>One Kestrel for all tests, which runs the named application, and a byte-level client.</summary>
internal sealed class KestrelOracle
{
    private const string ApplicationHeader = "X-Application";

    private static readonly Lazy<Task<KestrelOracle>> s_instance = new(CreateAsync);
    private static int s_lastId;

    private readonly ConcurrentDictionary<string, RequestDelegate> _applications = new();

    private KestrelOracle()
    {
    }

    public static Task<KestrelOracle> Instance => s_instance.Value;

    public CollectedLogs Logs { get; } = new();

    public IServiceProvider Services { get; private set; } = null!;

    private IPEndPoint EndPoint { get; set; } = null!;

    /// <summary>Lets the application answer a request, and returns the response.</summary>
    public async Task<Outcome> AskAsync(RequestDelegate application, TestRequest request)
    {
        var id = Interlocked.Increment(ref s_lastId).ToString(CultureInfo.InvariantCulture);
        _applications[id] = application;
        using var socket = new Socket(SocketType.Stream, ProtocolType.Tcp);
        await socket.ConnectAsync(EndPoint);
        await socket.SendAsync((request with { Headers = [.. request.Headers, (ApplicationHeader, id)] }).ToHttp());
        if (request.GoneWhen is not null)
        {
            await request.GoneWhen.Within("the client's moment to go");
            return new Outcome(0, [], [], IsCut: true);
        }

        return Parse(await ReadAllAsync(socket), request.Method);
    }

    private static async Task<KestrelOracle> CreateAsync()
    {
        var oracle = new KestrelOracle();
        var host = new HostBuilder()
            .ConfigureLogging(logging => logging.AddProvider(oracle.Logs).SetMinimumLevel(LogLevel.Debug))
            .ConfigureWebHost(web => web
                .UseKestrelCore()
                .ConfigureKestrel(static options => options.Listen(IPAddress.Loopback, 0))
                .Configure(app => app.Run(context =>
                {
                    var id = context.Request.Headers[ApplicationHeader].ToString();
                    context.Request.Headers.Remove(ApplicationHeader);
                    return oracle._applications[id](context);
                })))
            .Build();
        await host.StartAsync();
        oracle.Services = host.Services;
        var address = host.Services.GetRequiredService<IServer>().Features
            .Get<IServerAddressesFeature>()!.Addresses.Single();
        oracle.EndPoint = new IPEndPoint(IPAddress.Loopback, new Uri(address).Port);
        return oracle;
    }

    private static async Task<byte[]> ReadAllAsync(Socket socket)
    {
        using var received = new MemoryStream();
        var buffer = new byte[16 * 1024];
        try
        {
            int length;
            while ((length = await socket.ReceiveAsync(buffer).WaitAsync(TimeSpan.FromSeconds(20))) > 0)
                received.Write(buffer, 0, length);
        }
        catch (SocketException)
        {
            // A reset: there is nothing more to read.
        }

        return received.ToArray();
    }

    private static Outcome Parse(byte[] message, string method)
    {
        var end = message.AsSpan().IndexOf("\r\n\r\n"u8);
        if (end < 0)
            return new Outcome(0, [], [], IsCut: true);

        var lines = Encoding.Latin1.GetString(message, 0, end).Split("\r\n");
        var headers = lines[1..].Select(static line => line.Split(": ", 2))
            .Select(static parts => KeyValuePair.Create(parts[0], parts[1])).ToList();
        var status = int.Parse(lines[0].AsSpan("HTTP/1.1 ".Length, 3), CultureInfo.InvariantCulture);
        var body = message[(end + 4)..];
        var isCut = false;
        if (headers.Any(static header => header is { Key: "Transfer-Encoding", Value: "chunked" }))
            (body, isCut) = Dechunk(body);
        else if (!HttpMethods.IsHead(method) && headers.FirstOrDefault(
            static header => header.Key == "Content-Length").Value is { } length)
            isCut = body.Length < long.Parse(length, CultureInfo.InvariantCulture)
                && status != StatusCodes.Status304NotModified;

        return new Outcome(status, headers, body, isCut);
    }

    private static (byte[] Body, bool IsCut) Dechunk(ReadOnlySpan<byte> chunks)
    {
        var body = new List<byte>();
        while (true)
        {
            var line = chunks.IndexOf("\r\n"u8);
            if (line < 0)
                return ([.. body], true);

            var length = int.Parse(
                Encoding.ASCII.GetString(chunks[..line]), NumberStyles.HexNumber, CultureInfo.InvariantCulture);
            if (length == 0)
                return ([.. body], false);

            chunks = chunks[(line + 2)..];
            if (chunks.Length < length + 2)
                return ([.. body, .. chunks[..Math.Min(length, chunks.Length)]], true);

            body.AddRange(chunks[..length]);
            chunks = chunks[(length + 2)..];
        }
    }
}
