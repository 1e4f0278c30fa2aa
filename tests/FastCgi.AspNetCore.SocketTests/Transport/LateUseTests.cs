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
    [Trait("Contract", "T28")]
    [Trait("Contract", "T29")]
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
    private sealed class Kept(HttpContext context, string token, ConcurrentQueue<string> foreign)
    {
        private readonly IFeatureCollection _features = context.Features;
        private readonly HttpRequest _request = context.Request;
        private readonly HttpResponse _response = context.Response;
        private readonly IHttpRequestFeature _requestFeature =
            context.Features.GetRequiredFeature<IHttpRequestFeature>();
        private readonly IHttpResponseFeature _responseFeature =
            context.Features.GetRequiredFeature<IHttpResponseFeature>();
        private readonly IHttpResponseBodyFeature _bodyFeature =
            context.Features.GetRequiredFeature<IHttpResponseBodyFeature>();
        private readonly IHttpRequestLifetimeFeature _lifetime =
            context.Features.GetRequiredFeature<IHttpRequestLifetimeFeature>();
        private readonly IFastCgiRequestFeature _fastCgi =
            context.Features.GetRequiredFeature<IFastCgiRequestFeature>();
        private readonly IServerVariablesFeature _variables =
            context.Features.GetRequiredFeature<IServerVariablesFeature>();
        private readonly IHeaderDictionary _headers = context.Request.Headers;
        private readonly IHeaderDictionary _responseHeaders = context.Response.Headers;
        private readonly IDictionary<object, object?> _items = context.Items;
        private readonly Stream _stream = context.Response.Body;
        private readonly PipeWriter _writer = context.Response.BodyWriter;
        private readonly Memory<byte> _memory = context.Response.BodyWriter.GetMemory(4_000);
        private readonly Stream _bodyStream = context.Request.Body;
        private readonly PipeReader _reader = context.Request.BodyReader;
        private readonly TextWriter _error =
            context.Features.GetRequiredFeature<IFastCgiRequestFeature>().StandardError;
        private readonly CancellationToken _aborted = context.RequestAborted;

        public async Task UseAsync(Task ended)
        {
            await ended;
            var end = Environment.TickCount64 + Random.Shared.Next(MaxDelay + 1);
            do
            {
                Look();
                foreach (var use in Uses())
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

                _memory.Span.Fill((byte)'!');
                await Task.Yield();
            }
            while (Environment.TickCount64 < end);
        }

        private void Look()
        {
            Check(() => _request.Path.Value, "/");
            Check(() => _request.QueryString.Value, "?");
            Check(() => _request.Headers["X-Token"], "");
            Check(() => _headers["X-Token"], "");
            Check(() => _headers.Cookie, "");
            Check(() => _requestFeature.Path, "/");
            Check(() => _requestFeature.QueryString, "?");
            Check(() => _variables["HTTP_X_TOKEN"], "");
            Check(() => _variables["QUERY_STRING"], "");
            Check(() => _fastCgi.Parameters.FirstOrDefault(static pair => pair.Key == "HTTP_COOKIE").Value, "");
            Check(() => _responseHeaders["X-Token"], "");
            Check(() => ((IHttpRequestFeature?)_features[typeof(IHttpRequestFeature)])?.Path, "/");
            if (_aborted.IsCancellationRequested)
                foreign.Enqueue($"The token of {token} is cancelled.");
        }

        private void Check(Func<string?> look, string prefix)
        {
            try
            {
                if (look() is { Length: > 0 } seen && seen != prefix + token && seen != prefix + "late")
                    foreign.Enqueue($"{token} sees {seen}.");
            }
            catch (Exception)
            {
                // The request has ended.
            }
        }

        private IEnumerable<Func<Task>> Uses()
        {
            yield return () => Do(() => _response.StatusCode = 500);
            yield return () => Do(() => _responseFeature.StatusCode = 500);
            yield return () => Do(() => _responseFeature.ReasonPhrase = "late");
            yield return () => Do(() => _response.Headers["X-Late"] = "late");
            yield return () => Do(() => _responseHeaders["X-Late"] = "late");
            yield return () => Do(() => _responseHeaders.Remove("X-Token"));
            yield return () => Do(() => _headers["X-Token"] = "late");
            yield return () => Do(() => _requestFeature.Path = "/late");
            yield return () => Do(() => _variables["HTTP_X_TOKEN"] = "late");
            yield return () => Do(() => _items["late"] = "late");
            yield return () => Do(() => _features.Set<IItemsFeature>(null));
            yield return () => Do(
                () => _responseFeature.OnStarting(static _ => throw new InvalidOperationException("late"), this));
            yield return () => Do(() => _error.WriteLine("late"));
            yield return () => Do(() => _writer.Write("late"u8));
            yield return () => Do(() => _writer.Advance(10));
            yield return () => _stream.WriteAsync("late"u8.ToArray()).AsTask();
            yield return () => _stream.FlushAsync();
            yield return () => _writer.FlushAsync().AsTask();
            yield return () => Do(() => _writer.CancelPendingFlush());
            yield return () => _bodyFeature.StartAsync();
            yield return () => _bodyFeature.CompleteAsync();
            yield return () => _bodyStream.ReadAsync(new byte[10]).AsTask();
            yield return () => _reader.ReadAsync().AsTask();
            yield return () => Do(() => _reader.CancelPendingRead());
            yield return () => Do(() => _reader.Complete());
            yield return () => Do(_lifetime.Abort);
            yield return () => Do(() => context.Abort());
        }

        private static Task Do(Action use)
        {
            use();
            return Task.CompletedTask;
        }
    }
}
