using FastCgi.AspNetCore.Testing;
using Microsoft.AspNetCore.Hosting.Server.Abstractions;
using Microsoft.AspNetCore.Http;
using Xunit;

namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>Hosting makes a context for each request: one that an application keeps reaches no other request.</summary>
public sealed class HostContextTests
{
    [Fact]
    public async Task HttpContext_OfEachRequest_IsItsOwn()
    {
        var contexts = new HashSet<HttpContext>(ReferenceEqualityComparer.Instance);
        await using var server = await TestServer.StartAsync(context =>
        {
            Assert.False(context.Features is IHostContextContainer<object>);
            contexts.Add(context);
            return Apps.Target(context);
        });
        var frontEnd = server.Connect();
        for (var i = 0; i < 20; i++)
        {
            frontEnd.Send(RecordBytes.Get(uri: $"/{i}?q={i}"));
            await frontEnd.ReadResponseAsync();
        }

        Assert.Equal(20, contexts.Count);
        // Hosting has disposed of them.
        Assert.All(contexts, static context => Assert.Throws<ObjectDisposedException>(() => context.Request.Path));
    }
}
