using System.IO.Pipelines;
using FastCgi.AspNetCore.Testing;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using Xunit;

namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>A thread of a request goes on with what it has begun, while the request ends: nothing of it reaches another request.</summary>
public class UseBeyondTheEndTests
{
    // More than rest in the pool, so that an object that has served serves again.
    private const int Enough = 40;

    /// <summary>A thread lists the headers, which is logged, and the log is slow: meanwhile the object serves another request.</summary>
    [Fact]
    public async Task Headers_ListedBeyondTheEnd_AreNotThoseOfTheNextRequest()
        => await AssertNextIsItsOwnAsync(
            "HostWithoutPort",
            static context => _ = context.Request.Headers.Count,
            static context => context.Request.Headers.ToArray().Single(static header => header.Key == "Host").Value.ToString(),
            "next.example.test",
            [("SERVER_PORT", "8080"), ("HTTP_HOST", "first.example.test")],
            [("HTTP_HOST", "next.example.test")]);

    [Fact]
    public async Task ClientCertificate_ReadBeyondTheEnd_IsNotThatOfTheNextRequest()
    {
        using var certificates = new Certificates();
        using var client = certificates.CreateClient("Jane Client");
        await AssertNextIsItsOwnAsync(
            "ClientCertificateNotVerified",
            static context => _ = context.Connection.ClientCertificate,
            static context => context.Connection.ClientCertificate?.Subject ?? "none",
            client.Subject,
            [("HTTPS", "on"), ("SSL_CLIENT_VERIFY", "FAILED"), ("SSL_CLIENT_CERT", client.ExportCertificatePem())],
            [("HTTPS", "on"), ("SSL_CLIENT_VERIFY", "SUCCESS"), ("SSL_CLIENT_CERT", client.ExportCertificatePem())]);
    }

    /// <summary>A copy of the body that nobody awaits: what its destination has not taken yet stays what it was.</summary>
    [Theory]
    [InlineData("stream")]
    [InlineData("reader to stream")]
    [InlineData("reader to writer")]
    [InlineData("data")]
    public async Task Body_CopiedBeyondTheEnd_IsNotThatOfAnotherRequest(string how)
    {
        var destination = new SlowStream();
        Task? copy = null;
        var go = Waiting.Signal();
        await using var server = await TestServer.StartAsync(Application, static options => options.Roles.Add(FastCgiRole.Filter));
        var frontEnd = server.Connect();
        frontEnd.Send(
            RecordBytes.Begin(role: how == "data" ? 3 : 1),
            RecordBytes.ParamsStream(1, RecordBytes.RequestParams("POST", "/first", ("CONTENT_LENGTH", "3"), ("FCGI_DATA_LENGTH", "3"))),
            RecordBytes.StdinStream(1, "own"u8),
            how == "data" ? RecordBytes.Record(RecordBytes.Data, 1, "own"u8) : []);
        await frontEnd.ReadResponseAsync();

        // All at once, so that they have each buffer that the first had.
        var others = Enumerable.Range(0, Enough).Select(_ => server.Connect()).ToList();
        others.ForEach(static other => other.Send(RecordBytes.Post(1, "/next", "secret"u8.ToArray())));
        destination.GoOn.SetResult();
        await Record.ExceptionAsync(() => copy!.Within("the copy"));
        go.SetResult();
        foreach (var other in others)
            Assert.Equal(Apps.HashOf("secret"u8.ToArray()), (await other.ReadResponseAsync()).Text);

        Assert.Equal("own"u8, destination.ToArray());

        async Task Application(HttpContext context)
        {
            if (context.Request.Path != "/first")
            {
                await go.Task;
                await Apps.BodyHash(context);
                return;
            }

            copy = how switch
            {
                "stream" => context.Request.Body.CopyToAsync(destination),
                "reader to stream" => context.Request.BodyReader.CopyToAsync(destination),
                "data" => context.Features.GetRequiredFeature<IFastCgiFilterFeature>().Data.CopyToAsync(destination),
                _ => context.Request.BodyReader.CopyToAsync(PipeWriter.Create(destination)),
            };
            await destination.HasBytes.Task;
        }
    }

    [Theory]
    [InlineData(404)]
    [InlineData(302)]
    public async Task RequestLine_SetToNothing_IsAnswered(int status)
    {
        await using var server = await TestServer.StartAsync(
            context =>
            {
                var request = context.Features.GetRequiredFeature<IHttpRequestFeature>();
                (request.PathBase, request.Path, request.Method, request.QueryString, request.Protocol, request.Scheme) = (null!, null!, null!, null!, null!, null!);
                context.Response.StatusCode = status;
                return Task.CompletedTask;
            },
            static options => options.PathBase = "/app");
        var frontEnd = server.Connect();

        frontEnd.Send(RecordBytes.Get());

        Assert.Equal(status, (await frontEnd.ReadResponseAsync()).Status);
    }

    /// <param name="eventName">What is logged when the first request is asked, and is slow.</param>
    /// <param name="ask">What a thread of the first request asks for.</param>
    /// <param name="look">What the next request looks at.</param>
    /// <param name="expected">What it must see.</param>
    /// <param name="first">The params of the first request.</param>
    /// <param name="next">The params of those that follow.</param>
    private static async Task AssertNextIsItsOwnAsync(
        string eventName, Action<HttpContext> ask, Func<HttpContext, string> look, string expected, (string, string)[] first, (string, string)[] next)
    {
        var isLogging = Waiting.Signal();
        var isOver = Waiting.Signal();
        using var log = new ManualResetEventSlim();
        object? asked = null;
        await using var server = await TestServer.StartAsync(
            app => app.Run(async context =>
            {
                if (context.Request.Path == "/first")
                {
                    asked = context.Features;
                    _ = Task.Run(() => Record.Exception(() => ask(context))).ContinueWith(_ => isOver.SetResult(), TaskScheduler.Default);
                    await isLogging.Task;
                    return;
                }

                if (ReferenceEquals(context.Features, asked))
                {
                    asked = null;
                    log.Set();
                    await isOver.Task;
                }

                await context.Response.WriteAsync(look(context));
            }),
            services: services => services
                // Without hosting's log, which asks for the host.
                .AddLogging(static logging => logging.AddFilter("Microsoft", LogLevel.None))
                .AddSingleton<ILoggerProvider>(new EventProvider(eventName, () =>
                {
                    isLogging.TrySetResult();
                    Assert.True(log.Wait(Waiting.Patience));
                })));
        var frontEnd = server.Connect();
        frontEnd.Send(RecordBytes.Get(uri: "/first", more: first));
        await frontEnd.ReadResponseAsync();

        for (var i = 0; i < Enough; i++)
        {
            frontEnd.Send(RecordBytes.Get(more: next));
            Assert.Equal(expected, (await frontEnd.ReadResponseAsync()).Text);
        }

        Assert.Null(asked);
    }

    /// <summary>Takes what is written when it is told to.</summary>
    private sealed class SlowStream : MemoryStream
    {
        public TaskCompletionSource HasBytes { get; } = Waiting.Signal();

        public TaskCompletionSource GoOn { get; } = Waiting.Signal();

        public override async ValueTask WriteAsync(ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default)
        {
            HasBytes.TrySetResult();
            await GoOn.Task;
            await base.WriteAsync(buffer, CancellationToken.None);
        }
    }
}
