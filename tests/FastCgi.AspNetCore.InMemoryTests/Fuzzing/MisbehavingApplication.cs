using FastCgi.AspNetCore.InMemoryTests.Faults;

namespace FastCgi.AspNetCore.InMemoryTests.Fuzzing;

/// <summary>Misbehaves, each request in another way, by a seed; but /neighbour is answered as it should be: with the length of its body.</summary>
internal sealed class MisbehavingApplication : IHttpApplication<IFeatureCollection>
{
    private static readonly Func<HttpContext, Task>[] s_ways = [.. Misbehaviours.All.Values, static _ => Task.CompletedTask];

    private long _active;

    /// <summary>What the next requests do.</summary>
    public ulong Seed { get; set; }

    /// <summary>The requests whose context was made, and is not disposed of.</summary>
    public long Active => Interlocked.Read(ref _active);

    public IFeatureCollection CreateContext(IFeatureCollection contextFeatures)
    {
        Interlocked.Increment(ref _active);
        return contextFeatures;
    }

    public Task ProcessRequestAsync(IFeatureCollection context)
    {
        var http = new DefaultHttpContext(context);
        if (http.Request.Path == "/neighbour")
            return AnswerAsync(http);

        var random = new FuzzRandom(Seed++);
        return s_ways[random.Next(s_ways.Length)](http);
    }

    public void DisposeContext(IFeatureCollection context, Exception? exception) => Interlocked.Decrement(ref _active);

    private static async Task AnswerAsync(HttpContext context)
    {
        using var body = new MemoryStream();
        await context.Request.Body.CopyToAsync(body);
        await context.Response.WriteAsync($"{body.Length}");
    }
}
