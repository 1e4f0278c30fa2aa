using System.IO.Pipelines;
using FastCgi.AspNetCore.Testing;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Xunit;

namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>What an application keeps of a request beyond its end: it throws, and never touches the next request.</summary>
public class StaleUseTests
{
    [Fact]
    [Trait("Contract", "D8")]
    [Trait("Contract", "T28")]
    public async Task ResponseBody_AfterTheEnd_ThrowsAndNextResponseIsUntouched()
    {
        Stream? stream = null;
        System.IO.Pipelines.PipeWriter? writer = null;
        var go = Waiting.Signal();
        await using var server = await TestServer.StartAsync(async context =>
        {
            if (context.Request.Path == "/first")
            {
                stream = context.Response.Body;
                writer = context.Response.BodyWriter;
                await context.Response.WriteAsync("first");
                return;
            }

            await context.Response.WriteAsync("second");
            await go.Task;
        });
        var frontEnd = server.Connect();
        frontEnd.Send(RecordBytes.Get(uri: "/first"));
        await frontEnd.ReadResponseAsync();

        for (var i = 0; i < 40; i++)
        {
            go = Waiting.Signal();
            frontEnd.Send(RecordBytes.Get(uri: "/second"));
            await Assert.ThrowsAsync<ObjectDisposedException>(() => stream!.WriteAsync(new byte[10]).AsTask());
            await Assert.ThrowsAsync<ObjectDisposedException>(() => stream!.FlushAsync());
            Assert.Throws<ObjectDisposedException>(() => writer!.GetMemory());
            Assert.Throws<ObjectDisposedException>(() => writer!.Advance(0));
            await Assert.ThrowsAsync<ObjectDisposedException>(() => writer!.WriteAsync(new byte[10]).AsTask());
            Assert.Throws<ObjectDisposedException>(() => writer!.Complete());
            go.SetResult();
            Assert.Equal("second", (await frontEnd.ReadResponseAsync()).Text);
        }
    }

    /// <summary>Not used between the two requests, so that nothing has told the server that the application keeps it.</summary>
    [Theory]
    [InlineData("stream")]
    [InlineData("writer")]
    [InlineData("copy")]
    [Trait("Contract", "T28")]
    public async Task ResponseBody_FirstUsedWhenItsObjectServesAnother_ThrowsAndThatOneIsUntouched(string how)
    {
        var kept = new Dictionary<object, (Stream Stream, PipeWriter Writer)>();
        var isReused = false;
        await using var server = await TestServer.StartAsync(async context =>
        {
            var response = context.Features.Get<IHttpResponseFeature>()!;
            if (kept.TryGetValue(response, out var old))
            {
                isReused = true;
                await Assert.ThrowsAsync<ObjectDisposedException>(() => how switch
                {
                    "stream" => old.Stream.WriteAsync("stolen"u8.ToArray()).AsTask(),
                    "writer" => old.Writer.WriteAsync("stolen"u8.ToArray()).AsTask(),
                    _ => new MemoryStream("stolen"u8.ToArray()).CopyToAsync(old.Stream),
                });
            }

            kept[response] = (context.Response.Body, context.Response.BodyWriter);
            await context.Response.WriteAsync("own");
        });
        var frontEnd = server.Connect();

        for (var i = 0; i < 100 && !isReused; i++)
        {
            frontEnd.Send(RecordBytes.Get());
            Assert.Equal("own", (await frontEnd.ReadResponseAsync()).Text);
        }

        Assert.True(isReused);
    }

    [Theory]
    [InlineData("stream")]
    [InlineData("reader")]
    [Trait("Contract", "T28")]
    public async Task RequestBody_FirstUsedWhenItsObjectServesAnother_Throws(string how)
    {
        var kept = new Dictionary<object, (Stream Stream, PipeReader Reader)>();
        var isReused = false;
        await using var server = await TestServer.StartAsync(async context =>
        {
            var request = context.Features.Get<IHttpRequestFeature>()!;
            if (kept.TryGetValue(request, out var old))
            {
                isReused = true;
                await Assert.ThrowsAsync<ObjectDisposedException>(() => how == "stream" ? old.Stream.ReadAsync(new byte[10]).AsTask() : old.Reader.ReadAsync().AsTask());
            }

            kept[request] = (context.Request.Body, context.Request.BodyReader);
            using var reader = new StreamReader(context.Request.Body);
            await context.Response.WriteAsync(await reader.ReadToEndAsync());
        });
        var frontEnd = server.Connect();

        for (var i = 0; i < 100 && !isReused; i++)
        {
            frontEnd.Send(RecordBytes.Post(1, "/", "own"u8.ToArray()));
            Assert.Equal("own", (await frontEnd.ReadResponseAsync()).Text);
        }

        Assert.True(isReused);
    }

    [Fact]
    [Trait("Contract", "T28")]
    public async Task RequestBody_AfterTheEnd_ThrowsAndNextBodyIsUntouched()
    {
        Stream? stream = null;
        System.IO.Pipelines.PipeReader? reader = null;
        var go = Waiting.Signal();
        await using var server = await TestServer.StartAsync(async context =>
        {
            if (context.Request.Path == "/first")
            {
                stream = context.Request.Body;
                reader = context.Request.BodyReader;
                return;
            }

            await go.Task;
            await Apps.BodyHash(context);
        });
        var frontEnd = server.Connect();
        frontEnd.Send(RecordBytes.Post(1, "/first", new byte[10]));
        await frontEnd.ReadResponseAsync();

        for (var i = 0; i < 40; i++)
        {
            go = Waiting.Signal();
            frontEnd.Send(RecordBytes.Post(1, "/second", Apps.Pattern(100)));
            await Assert.ThrowsAsync<ObjectDisposedException>(() => stream!.ReadAsync(new byte[10]).AsTask());
            await Assert.ThrowsAsync<ObjectDisposedException>(() => reader!.ReadAsync().AsTask());
            Assert.Throws<ObjectDisposedException>(() => reader!.TryRead(out _));
            go.SetResult();
            Assert.Equal(Apps.HashOf(Apps.Pattern(100)), (await frontEnd.ReadResponseAsync()).Text);
        }
    }

    [Fact]
    [Trait("Contract", "T28")]
    public async Task ResponseBody_ReplacedAfterTheEnd_ThrowsAndNextResponseIsUntouched()
    {
        IHttpResponseFeature? response = null;
        var own = new MemoryStream();
#pragma warning disable CS0618 // IHttpResponseFeature.Body is obsolete for applications, yet some middleware uses it.
        await using var server = await TestServer.StartAsync(context =>
        {
            response ??= context.Features.GetRequiredFeature<IHttpResponseFeature>();
            return context.Response.WriteAsync($"{ReferenceEquals(context.Features.GetRequiredFeature<IHttpResponseFeature>().Body, own)}");
        });
        var frontEnd = server.Connect();
        frontEnd.Send(RecordBytes.Get());
        await frontEnd.ReadResponseAsync();

        Assert.Throws<ObjectDisposedException>(() => response!.Body = own);
#pragma warning restore CS0618
        for (var i = 0; i < 40; i++)
        {
            frontEnd.Send(RecordBytes.Get());
            Assert.Equal("False", (await frontEnd.ReadResponseAsync()).Text);
        }
    }

    /// <summary>Taken when the request is over, and before its object serves another.</summary>
    [Theory]
    [InlineData("stream")]
    [InlineData("reader")]
    [Trait("Contract", "T28")]
    public async Task RequestBody_TakenBetweenTwoRequests_ThrowsAndTheNextBodyIsWhole(string how)
    {
        IHttpRequestFeature? kept = null;
        IRequestBodyPipeFeature? keptPipe = null;
        var bodies = new List<(Stream Stream, PipeReader Reader)>();
        var reuses = 0;
        await using var server = await TestServer.StartAsync(async context =>
        {
            var isReused = ReferenceEquals(context.Features.Get<IHttpRequestFeature>(), kept);
            kept ??= context.Features.GetRequiredFeature<IHttpRequestFeature>();
            keptPipe ??= context.Features.GetRequiredFeature<IRequestBodyPipeFeature>();
            foreach (var (stream, reader) in bodies)
                await AssertIsOverAsync(stream, reader);
            reuses += isReused ? 1 : 0;
            await Apps.BodyHash(context);
        });
        var frontEnd = server.Connect();

        for (var i = 0; i < 40; i++)
        {
            var body = Apps.Utf8($"body {i}");
            frontEnd.Send(RecordBytes.Post(1, "/", body));
            Assert.Equal(Apps.HashOf(body), (await frontEnd.ReadResponseAsync()).Text);
            if (i % 10 == 0)
                bodies.Add((kept!.Body, keptPipe!.Reader));
        }

        Assert.True(reuses > 0);

        Task AssertIsOverAsync(Stream stream, PipeReader reader)
            => Assert.ThrowsAsync<ObjectDisposedException>(() => how == "stream" ? stream.ReadAsync(new byte[10]).AsTask() : reader.ReadAsync().AsTask());
    }

    /// <summary>A read that nobody awaits, of what does not come.</summary>
    [Fact]
    [Trait("Contract", "T28")]
    public async Task RequestBody_ReadThatWaitsAtTheEnd_FailsAndTheNextBodyIsWhole()
    {
        Task? read = null;
        await using var server = await TestServer.StartAsync(context =>
        {
            if (context.Request.Path != "/first")
                return Apps.BodyHash(context);

            read = context.Request.Body.ReadAsync(new byte[10]).AsTask();
            return Apps.Hello(context);
        });
        var body = Apps.Pattern(20_000);
        for (var i = 0; i < 40; i++)
        {
            var first = server.Connect();
            first.Send(RecordBytes.Post(1, "/first", body)[..^(body.Length + 16)]);
            await first.ReadResponseAsync();
            await Assert.ThrowsAsync<ObjectDisposedException>(() => read!.Within("the read"));

            var next = server.Connect();
            next.Send(RecordBytes.Post(1, "/next", body));
            Assert.Equal(Apps.HashOf(body), (await next.ReadResponseAsync()).Text);
        }
    }

    /// <summary>A copy that nobody awaits, to a destination that is slow: meanwhile the object serves another request.</summary>
    [Theory]
    [InlineData("stream")]
    [InlineData("reader to stream")]
    [InlineData("reader to writer")]
    [Trait("Contract", "T28")]
    public async Task RequestBody_CopiedBeyondTheEnd_NextBodyIsUntouched(string how)
    {
        var destination = new SlowStream();
        IFeatureCollection? first = null;
        Task? copy = null;
        var isUsedAgain = false;
        var go = Waiting.Signal();
        await using var server = await TestServer.StartAsync(async context =>
        {
            if (first is null)
            {
                first = context.Features;
                copy = how switch
                {
                    "stream" => context.Request.Body.CopyToAsync(destination),
                    "reader to stream" => context.Request.BodyReader.CopyToAsync(destination),
                    _ => context.Request.BodyReader.CopyToAsync(PipeWriter.Create(destination)),
                };
                await destination.HasBytes.Task;
                return;
            }

            isUsedAgain = ReferenceEquals(context.Features, first);
            if (!isUsedAgain)
                return;
            await go.Task;
            await Apps.BodyHash(context);
        });
        var frontEnd = server.Connect();
        var head = RecordBytes.ParamsStream(1, RecordBytes.RequestParams("POST", "/", ("CONTENT_LENGTH", "6")));
        frontEnd.Send(RecordBytes.Begin(), head, RecordBytes.Record(RecordBytes.Stdin, 1, "own"u8));
        await frontEnd.ReadResponseAsync();

        for (var i = 0; i < 40 && !isUsedAgain; i++)
        {
            frontEnd = server.Connect();
            frontEnd.Send(RecordBytes.Begin(), head);
        }

        Assert.True(isUsedAgain);
        destination.GoOn.SetResult();
        await Assert.ThrowsAsync<ObjectDisposedException>(() => copy!.Within("the copy"));
        frontEnd.Send(RecordBytes.StdinStream(1, "secret"u8));
        go.SetResult();

        Assert.Equal(Apps.HashOf("secret"u8.ToArray()), (await frontEnd.ReadResponseAsync()).Text);
        Assert.Equal("own"u8, destination.ToArray());
    }

    [Fact]
    public async Task Features_AfterTheEnd_Throw()
    {
        IFeatureCollection? features = null;
        IHeaderDictionary? headers = null;
        IServerVariablesFeature? variables = null;
        await using var server = await TestServer.StartAsync(context =>
        {
            features = context.Features;
            headers = context.Request.Headers;
            variables = context.Features.Get<IServerVariablesFeature>();
            return Apps.Hello(context);
        });
        var frontEnd = server.Connect();
        frontEnd.Send(RecordBytes.Get());
        await frontEnd.ReadResponseAsync();

        Assert.Throws<ObjectDisposedException>(() => features!.Set<IItemsFeature>(null));
        Assert.Throws<ObjectDisposedException>(() => headers!["User-Agent"]);
        Assert.Throws<ObjectDisposedException>(() => variables!["REMOTE_ADDR"]);
    }

    [Fact]
    [Trait("Contract", "A9")]
    [Trait("Contract", "T7")]
    public async Task NextRequest_SeesNothingOfTheOneBefore()
    {
        await using var server = await TestServer.StartAsync(async context =>
        {
            var seen = $"{context.Items.Count} {context.User.Identity?.Name} {context.GetEndpoint()} {context.Request.RouteValues.Count} " +
                $"{context.Features.Get<ITlsConnectionFeature>() is null} {context.Response.Headers.Count} {context.Response.StatusCode} {context.Request.Headers["X-Own"]}";
            context.Items["a"] = "b";
            context.User = new(new System.Security.Claims.ClaimsIdentity([new("name", "x")], "test", "name", "role"));
            context.SetEndpoint(new Endpoint(null, null, "an endpoint"));
            context.Request.RouteValues["r"] = 1;
            context.Request.Headers["X-Own"] = "own";
            context.Response.Headers["X-Answer"] = "1";
            context.Response.StatusCode = 201;
            await context.Response.WriteAsync(seen);
        });
        var frontEnd = server.Connect();

        for (var i = 0; i < 40; i++)
        {
            frontEnd.Send(RecordBytes.Get());
            Assert.Equal("0   0 True 0 200 ", (await frontEnd.ReadResponseAsync()).Text);
        }
    }

    [Fact]
    [Trait("Contract", "A8")]
    public async Task AsyncLocal_SetByTheApplication_NotSeenByTheNextRequest()
    {
        var local = new AsyncLocal<string>();
        await using var server = await TestServer.StartAsync(context =>
        {
            var seen = local.Value;
            local.Value = "leaked";
            return context.Response.WriteAsync(seen ?? "clean");
        });
        var frontEnd = server.Connect();

        for (var i = 0; i < 20; i++)
        {
            frontEnd.Send(RecordBytes.Get());
            Assert.Equal("clean", (await frontEnd.ReadResponseAsync()).Text);
        }
    }

    /// <summary>Takes what is written at once, and waits then.</summary>
    private sealed class SlowStream : MemoryStream
    {
        public TaskCompletionSource HasBytes { get; } = Waiting.Signal();

        public TaskCompletionSource GoOn { get; } = Waiting.Signal();

        public override async ValueTask WriteAsync(ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default)
        {
            Write(buffer.Span);
            HasBytes.TrySetResult();
            await GoOn.Task;
        }
    }
}
