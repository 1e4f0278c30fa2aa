using System.Buffers;
using System.Collections.Concurrent;
using System.IO.Pipelines;

namespace FastCgi.AspNetCore.SocketTests.Transport;

/// <summary>
/// Under load, each request leaves threads that keep using its objects for up to 50 ms after its end. They see nothing
/// of another client's request, and change, cut, or abort no response. FASTCGI_STRESS_SECONDS prolongs it.
/// </summary>
[Collection(Alone.Name)]
public sealed class LateUseTests
{
    private const int Clients = 16;
    private const int MaxDelay = 50;

    [Theory, MemberData(nameof(TransportSetup.All), MemberType = typeof(TransportSetup))]
    [Contract("T28", "T29")]
    public async Task Anything_UsedAfterTheEnd_TouchesNoOtherRequest(TransportSetup setup)
    {
        var foreign = new ConcurrentQueue<string>();
        var late = new ConcurrentQueue<Task>();
        var seconds = int.Parse(
            Environment.GetEnvironmentVariable("FASTCGI_STRESS_SECONDS") ?? "1", CultureInfo.InvariantCulture);
        await using (var server = await TransportServer.StartAsync(
            setup,
            app => app.Run(context => AnswerAsync(context, foreign, late)),
            build: static builder => builder.Logging.SetMinimumLevel(LogLevel.Warning)))
        {
            server.Logs.Expected.UnionWith(["ApplicationError", "CancellationCallbackFailed"]);
            var end = Environment.TickCount64 + (seconds * 1_000);
            await Task.WhenAll(
                Enumerable.Range(0, Clients).Select(client => Task.Run(() => RunAsync(server, client, end))));
            await Task.WhenAll(late).Within("the late threads");
        }

        Assert.Empty(foreign.Take(5));
    }

    private static async Task RunAsync(TransportServer server, int client, long end)
    {
        var random = new Random(client);
        using var connection = await server.ConnectAsync();
        for (var i = 0; Environment.TickCount64 < end; i++)
        {
            var token = $"client-{client}-{i}-";
            var body = string.Concat(Enumerable.Repeat(token, random.Next(1, 400)));
            await connection.SendAsync(
                RecordBytes.Post(
                    1,
                    $"/{token}?{token}",
                    Encoding.ASCII.GetBytes(body),
                    more: [("HTTP_X_TOKEN", token), ("HTTP_COOKIE", token)]));

            var answer = Encoding.ASCII.GetString(await connection.ReadResponseAsync());
            Assert.Equal($"X-Token: {token}\r\nStatus: 200 OK\r\n\r\n{body}", WithoutLength(answer));
        }
    }

    private static string WithoutLength(string answer)
    {
        var start = answer.IndexOf("Content-Length:", StringComparison.Ordinal);
        return start < 0 ? answer : answer.Remove(start, answer.IndexOf('\n', start) + 1 - start);
    }

    private static async Task AnswerAsync(
        HttpContext context, ConcurrentQueue<string> foreign, ConcurrentQueue<Task> late)
    {
        var token = context.Request.Headers["X-Token"].ToString();
        context.Response.Headers["X-Token"] = token;
        using var body = new MemoryStream();
        await context.Request.Body.CopyToAsync(body);
        await context.Response.Body.WriteAsync(body.GetBuffer().AsMemory(0, (int)body.Length));
        // The responses to the client that keeps nothing are checked too.
        if (token.StartsWith("client-0-", StringComparison.Ordinal))
            return;

        var ended = Waiting.Signal();
        context.Response.OnCompleted(() =>
        {
            ended.SetResult();
            return Task.CompletedTask;
        });
        late.Enqueue(new Kept(context, token, foreign).UseAsync(ended.Task));
    }

    /// <summary>Everything of a request that an application can keep.</summary>
    private sealed class Kept
    {
        private readonly string _token;
        private readonly ConcurrentQueue<string> _foreign;
        private readonly CancellationToken _aborted;
        private readonly Memory<byte> _memory;
        private readonly (string Prefix, Func<string?> Look)[] _looks;
        private readonly Func<Task>[] _uses;

        public Kept(HttpContext context, string token, ConcurrentQueue<string> foreign)
        {
            var (request, response, features) = (context.Request, context.Response, context.Features);
            var requestFeature = features.GetRequiredFeature<IHttpRequestFeature>();
            var responseFeature = features.GetRequiredFeature<IHttpResponseFeature>();
            var bodyFeature = features.GetRequiredFeature<IHttpResponseBodyFeature>();
            var lifetime = features.GetRequiredFeature<IHttpRequestLifetimeFeature>();
            var fastCgi = features.GetRequiredFeature<IFastCgiRequestFeature>();
            var variables = features.GetRequiredFeature<IServerVariablesFeature>();
            var (headers, responseHeaders, items) = (request.Headers, response.Headers, context.Items);
            var (stream, writer, error) = (response.Body, response.BodyWriter, fastCgi.StandardError);
            var (bodyStream, reader) = (request.Body, request.BodyReader);
            (_token, _foreign, _aborted, _memory) = (token, foreign, context.RequestAborted, writer.GetMemory(4_000));
            _looks =
            [
                ("/", () => request.Path.Value),
                ("?", () => request.QueryString.Value),
                ("", () => request.Headers["X-Token"]),
                ("", () => headers["X-Token"]),
                ("", () => headers.Cookie),
                ("/", () => requestFeature.Path),
                ("?", () => requestFeature.QueryString),
                ("", () => variables["HTTP_X_TOKEN"]),
                ("", () => variables["QUERY_STRING"]),
                ("", () => fastCgi.Parameters.FirstOrDefault(static pair => pair.Key == "HTTP_COOKIE").Value),
                ("", () => responseHeaders["X-Token"]),
                ("/", () => features.Get<IHttpRequestFeature>()?.Path),
            ];
            _uses =
            [
                Do(() => response.StatusCode = 500),
                Do(() => responseFeature.StatusCode = 500),
                Do(() => responseFeature.ReasonPhrase = "late"),
                Do(() => response.Headers["X-Late"] = "late"),
                Do(() => responseHeaders["X-Late"] = "late"),
                Do(() => responseHeaders.Remove("X-Token")),
                Do(() => headers["X-Token"] = "late"),
                Do(() => requestFeature.Path = "/late"),
                Do(() => variables["HTTP_X_TOKEN"] = "late"),
                Do(() => items["late"] = "late"),
                Do(() => features.Set<IItemsFeature>(null)),
                Do(() => responseFeature.OnStarting(static _ => throw new InvalidOperationException("late"), this)),
                Do(() => error.WriteLine("late")),
                Do(() => writer.Write("late"u8)),
                Do(() => writer.Advance(10)),
                () => stream.WriteAsync("late"u8.ToArray()).AsTask(),
                () => stream.FlushAsync(),
                () => writer.FlushAsync().AsTask(),
                Do(writer.CancelPendingFlush),
                () => bodyFeature.StartAsync(),
                bodyFeature.CompleteAsync,
                () => bodyStream.ReadAsync(new byte[10]).AsTask(),
                () => reader.ReadAsync().AsTask(),
                Do(reader.CancelPendingRead),
                Do(() => reader.Complete()),
                Do(lifetime.Abort),
                Do(context.Abort),
            ];
        }

        public async Task UseAsync(Task ended)
        {
            await ended;
            var end = Environment.TickCount64 + Random.Shared.Next(MaxDelay + 1);
            do
            {
                foreach (var (prefix, look) in _looks)
                {
                    string? seen = null;
                    await TryAsync(Do(() => seen = look()));
                    if (!string.IsNullOrEmpty(seen) && seen != prefix + _token && seen != prefix + "late")
                        _foreign.Enqueue($"{_token} sees {seen}.");
                }

                if (_aborted.IsCancellationRequested)
                    _foreign.Enqueue($"The token of {_token} is canceled.");
                foreach (var use in _uses)
                    await TryAsync(use);
                _memory.Span.Fill((byte)'!');
                await Task.Yield();
            }
            while (Environment.TickCount64 < end);
        }

        private static Func<Task> Do(Action use) => () =>
        {
            use();
            return Task.CompletedTask;
        };

        private static async Task TryAsync(Func<Task> use)
        {
            try
            {
                await use();
            }
            catch (Exception)
            {
                // The request has ended.
            }
        }
    }
}
