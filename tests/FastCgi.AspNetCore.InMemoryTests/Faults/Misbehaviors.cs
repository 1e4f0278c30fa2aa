namespace FastCgi.AspNetCore.InMemoryTests.Faults;

/// <summary>Things that applications should not do.</summary>
internal static class Misbehaviors
{
    public static IReadOnlyDictionary<string, RequestDelegate> All { get; } =
        new Dictionary<string, RequestDelegate>
        {
            ["throws"] = static _ => throw new InvalidOperationException("on purpose"),
            ["throws later"] = static async _ =>
            {
                await Task.Yield();
                throw new InvalidOperationException("on purpose");
            },
            ["null"] = static _ => null!,
            ["waits until aborted"] = Apps.UntilAborted,
            ["aborts"] = Apps.Do(static context => context.Abort()),
            ["aborts elsewhere"] = static context => Task.Run(context.Abort),
            ["OnStarting throws"] = static context =>
            {
                context.Response.OnStarting(static () => throw new InvalidOperationException("on purpose"));
                return context.Response.WriteAsync("more");
            },
            ["OnStarting throws later"] = static context =>
            {
                context.Response.OnStarting(static async () =>
                {
                    await Task.Yield();
                    throw new InvalidOperationException("on purpose");
                });
                return context.Response.WriteAsync("more");
            },
            ["OnCompleted throws"] = Apps.Do(static context
                => context.Response.OnCompleted(static () => throw new InvalidOperationException("on purpose"))),
            ["dispose throws"] = Apps.Do(static context
                => context.Response.RegisterForDispose(Throwing<IDisposable>())),
            ["callback of the abort throws"] = Apps.Do(static context =>
            {
                context.RequestAborted.Register(static () => throw new InvalidOperationException("on purpose"));
                context.Abort();
            }),
            ["too little"] = static context =>
            {
                context.Response.ContentLength = 1_000;
                return context.Response.WriteAsync("less");
            },
            ["too much"] = static context =>
            {
                context.Response.ContentLength = 1;
                return context.Response.WriteAsync("more than that");
            },
            ["completes twice"] = static async context =>
            {
                await context.Response.CompleteAsync();
                await context.Response.CompleteAsync();
                await context.Response.BodyWriter.CompleteAsync();
                await context.Response.BodyWriter.CompleteAsync(new InvalidOperationException("on purpose"));
                await context.Request.BodyReader.CompleteAsync();
                await context.Request.BodyReader.CompleteAsync(new InvalidOperationException("on purpose"));
            },
            ["leaves the reader"] = static async context => await context.Request.BodyReader.ReadAsync(),
            ["reads all"] = static context => context.Request.Body.CopyToAsync(Stream.Null),
            ["reads all and aborts"] = static async context =>
            {
                await context.Request.Body.CopyToAsync(Stream.Null);
                context.Abort();
                await context.Response.WriteAsync("late");
            },
            ["writes much"] = static context => context.Response.Body.WriteAsync(new byte[200_000]).AsTask(),
            ["flushes many"] = static async context =>
            {
                for (var i = 0; i < 20; i++)
                {
                    await context.Response.WriteAsync("x");
                    await Task.Yield();
                }
            },
            ["leases and returns"] = Apps.Do(static context => context.Response.BodyWriter.GetMemory(70_000)),
            ["headers throw"] = static context =>
            {
                context.Features.Get<IHttpResponseFeature>()!.Headers = new OddHeaders(name: null, "x");
                return context.Response.WriteAsync("more");
            },
            ["response feature throws"] = Apps.Do(static context
                => context.Features.Set<IHttpResponseFeature>(Throwing<IHttpResponseFeature>())),
            ["body feature throws"] = static context =>
            {
                context.Features.Set<IHttpResponseBodyFeature>(Throwing<IHttpResponseBodyFeature>());
                return context.Response.WriteAsync("more");
            },
            ["lifetime is taken away"] = Apps.Do(static context
                => context.Features.Set<IHttpRequestLifetimeFeature>(null)),
            ["all features are taken away"] = Apps.Do(static context =>
            {
                foreach (var type in context.Features.Select(static feature => feature.Key).ToList())
                    context.Features[type] = null;
            }),
            ["odd status"] = Apps.Do(static context =>
            {
                context.Features.Get<IHttpResponseFeature>()!.StatusCode = -7;
                context.Features.Get<IHttpResponseFeature>()!.ReasonPhrase = "a\r\nb";
            }),
        };

    /// <summary>An object of which each member throws.</summary>
    private static T Throwing<T>()
        where T : class => DispatchProxy.Create<T, ThrowingProxy>();

#pragma warning disable CA1852 // The proxy is a subclass.
    private class ThrowingProxy : DispatchProxy
#pragma warning restore CA1852
    {
        protected override object? Invoke(MethodInfo? targetMethod, object?[]? args)
            => throw new InvalidOperationException("on purpose");
    }
}
