using System.IO.Pipelines;
using FastCgi.AspNetCore.Testing;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Xunit;

namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>What an application keeps of a request beyond its end never touches the next request; bodies throw.</summary>
public sealed class StaleUseTests
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

    /// <summary>They belong to their request for ever: what is read is its own, and what is written reaches nobody.</summary>
    [Fact]
    [Trait("Contract", "T28")]
    public async Task Features_AfterTheEnd_AreStillOfTheirOwnRequest()
    {
        IFeatureCollection? kept = null;
        IServerVariablesFeature? variables = null;
        await using var server = await TestServer.StartAsync(context =>
        {
            kept ??= context.Features;
            variables ??= context.Features.Get<IServerVariablesFeature>();
            return Apps.Target(context);
        });
        var frontEnd = server.Connect();
        frontEnd.Send(RecordBytes.Get(uri: "/first?a=1"));
        await frontEnd.ReadResponseAsync();

        for (var i = 0; i < 40; i++)
        {
            frontEnd.Send(RecordBytes.Get(uri: $"/next/{i}"));
            Assert.Equal($"GET /next/{i}", (await frontEnd.ReadResponseAsync()).Text);
            var request = kept!.GetRequiredFeature<IHttpRequestFeature>();
            Assert.Equal(("/first", "?a=1"), (request.Path, request.QueryString));
            Assert.Equal("/first?a=1", variables!["REQUEST_URI"]);
            request.Headers["X-Late"] = "late";
            kept!.Set<IItemsFeature>(new ItemsFeature());
            kept.GetRequiredFeature<IHttpRequestLifetimeFeature>().Abort();
        }
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
}
