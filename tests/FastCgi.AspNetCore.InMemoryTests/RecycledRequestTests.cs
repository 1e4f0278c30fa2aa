using System.Reflection;
using System.Security.Claims;
using FastCgi.AspNetCore.Requests;
using FastCgi.AspNetCore.Testing;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.AspNetCore.Http.Features.Authentication;
using Xunit;

namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>FASTCGI_RECYCLED=1 runs all tests on request objects that have served: that they have, and that a test would see it.</summary>
public sealed class RecycledRequestTests
{
    // As many as a server has, less those that rest.
    private const int Enough = 2 * HostileRequest.WaysToEnd;

    [Fact]
    public async Task Requests_OfARecycledServer_AreObjectsThatHaveServed()
    {
        var seen = new List<object>();
        await using var server = await StartAsync(context =>
        {
            seen.Add(context.Features);
            return Apps.Target(context);
        });

        await AskAsync(server);

        Assert.Equal(Enough, server.Recycled.Count);
        Assert.All(server.Recycled, request => Assert.True(request.Generation >= 2));
        for (var i = 0; i < Enough; i++)
            Assert.Same(server.Recycled[i], seen[i]);
    }

    [Fact]
    public async Task Requests_OfATest_AreRecycledIfTheEnvironmentSaysSo()
    {
        await using var server = await TestServer.StartAsync(Apps.Hello);

        Assert.Equal(Environment.GetEnvironmentVariable("FASTCGI_RECYCLED") == "1", server.Recycled.Count > 0);
    }

    /// <summary>A hostile request that ends in each way has left its traces: the mode is worth nothing if it was refused.</summary>
    [Fact]
    public async Task HostileRequests_EachWayToEnd_HaveHadTheApplication()
    {
        await using var server = await StartAsync(Apps.Hello);

        // Hosting's context rests with the object, and only the application has it made.
        Assert.All(server.Recycled, static request => Assert.NotNull(request.GetType().GetInterfaces()
            .Single(static type => type.Name.StartsWith("IHostContextContainer", StringComparison.Ordinal)).GetProperty("HostContext")!.GetValue(request)));
    }

    /// <summary>What a defect would leave in an object is put there by hand.</summary>
    [Theory]
    [InlineData("_items", "IItemsFeature")]
    [InlineData("_authentication", "IHttpAuthenticationFeature")]
    [InlineData("_others", "HostileFeature")]
    public async Task Leak_PlantedInAnObject_IsNoticed(string field, string seen)
    {
        var server = await StartAsync(Apps.Target);
        object leak = field switch
        {
            "_items" => new ItemsFeature(),
            "_authentication" => new HttpAuthenticationFeature { User = new ClaimsPrincipal() },
            _ => new FeatureList(),
        };
        (leak as FeatureList)?.Set(typeof(HostileFeature), new HostileFeature());
        typeof(FastCgiRequest).GetField(field, BindingFlags.Instance | BindingFlags.NonPublic)!.SetValue(server.Recycled[3], leak);

        await AskAsync(server);

        Assert.Equal($"The request has the {seen} of one before it.", Assert.Single(server.Leaks));
        await Assert.ThrowsAnyAsync<Xunit.Sdk.XunitException>(async () => await server.DisposeAsync());
    }

    /// <summary>A field that is not reset is a leak, whoever may see it: not only those are looked at that an application can ask for.</summary>
    [Fact]
    public async Task Request_OfAnObjectThatHasServed_HasEachFieldAsInANewObject()
    {
        var expected = Assert.Single(await TakeSnapshotsAsync(isRecycled: false, count: 1));

        foreach (var snapshot in await TakeSnapshotsAsync(isRecycled: true, Enough))
            Assert.Empty(snapshot.Except(expected).Concat(expected.Except(snapshot)));
    }

    /// <summary>What the objects of requests with a part of their body have when the application is called.</summary>
    private static async Task<List<HashSet<string>>> TakeSnapshotsAsync(bool isRecycled, int count)
    {
        var snapshots = new List<HashSet<string>>();
        await using var server = await TestServer.StartAsync(
            app => app.Run(context =>
            {
                snapshots.Add(RequestSnapshot.Take((FastCgiRequest)context.Features.GetRequiredFeature<IHttpRequestFeature>()));
                return Apps.Target(context);
            }),
            isRecycled: isRecycled);
        for (var i = 0; i < count; i++)
        {
            var frontEnd = server.Connect();
            frontEnd.Send(RecordBytes.Post(1, "/", Apps.Pattern(10))[..^10]);
            await frontEnd.ReadResponseAsync();
        }

        return snapshots;
    }

    private static Task<TestServer> StartAsync(RequestDelegate application)
        => TestServer.StartAsync(app => app.Run(application), isRecycled: true);

    private static async Task AskAsync(TestServer server)
    {
        var frontEnd = server.Connect();
        for (var i = 0; i < Enough; i++)
        {
            frontEnd.Send(RecordBytes.Get(uri: $"/{i}"));
            Assert.Equal($"GET /{i}", (await frontEnd.ReadResponseAsync()).Text);
        }
    }
}
