using Microsoft.AspNetCore.Http.Features.Authentication;
using Microsoft.AspNetCore.Routing;

namespace FastCgi.AspNetCore.InMemoryTests.Contract;

/// <summary>The feature collection: what is in it, what is not, and what becomes of it at the end of the request.</summary>
public class RequestFeatureTests
{
    // Absent, for no front-end can carry what they promise, or (items, persistent state) unrelated clients share the connection.
    private static readonly string[] s_onlyInKestrel =
    [
        nameof(IHttpExtendedConnectFeature), "IHttpMinResponseDataRateFeature", nameof(IHttpRequestTrailersFeature),
        nameof(IHttpUpgradeFeature), "IHttpWebTransportFeature", "IPersistentStateFeature",
    ];

    private static readonly string[] s_onlyHere = [nameof(IFastCgiRequestFeature), nameof(IServerVariablesFeature)];

    [Fact]
    [Trait("Contract", "1")]
    [Trait("Contract", "T2")]
    [Trait("Contract", "T3")]
    public async Task Features_InTheCollection_KestrelsButForThoseStated()
    {
        var (kestrel, ours) = await Parity.RunAsync(static (context, seen) =>
        {
            foreach (var (type, feature) in context.Features)
            {
                Assert.Same(feature, context.Features[type]);
                Assert.IsType(type, feature, exactMatch: false);
                seen.Note(type.Name, "present");
            }
        });

        AssertDifference(s_onlyInKestrel, kestrel, ours);
        AssertDifference(s_onlyHere, ours, kestrel);
        Assert.Distinct(ours.Observed);
    }

    [Fact]
    [Trait("Contract", "1")]
    public async Task RequestFeature_SetByMiddleware_SeenByTheApplicationOnly()
    {
        var answer = await Parity.AssertAsync(
            static async (context, seen) =>
            {
                var request = context.Features.Get<IHttpRequestFeature>()!;
                request.Protocol = "HTTP/2";
                request.Scheme = "https";
                request.Method = "GET";
                request.PathBase = "/base";
                request.Path = "/path";
                request.QueryString = "?q";
                request.RawTarget = "/raw";
                seen.Note("line", $"{context.Request.Protocol} {context.Request.Scheme} {context.Request.Method} {context.Request.PathBase} {context.Request.Path} {context.Request.QueryString} {request.RawTarget}");
                await context.Response.WriteAsync("Hello");
            },
            new TestRequest("HEAD", "/a?b"));

        Assert.Equal(["line: HTTP/2 https GET /base /path ?q /raw"], answer.Observed);
        Assert.Equal((200, ""), (answer.Outcome.Status, answer.Outcome.Text));
    }

    [Fact]
    [Trait("Contract", "1")]
    [Trait("Contract", "H14")]
    public async Task ConnectionAndIdentifier_SetByMiddleware_ReadBack() => await Parity.AssertAsync(static (context, seen) =>
    {
        seen.Note("trace", context.TraceIdentifier == $"{context.Connection.Id}:00000001");
        var connection = context.Connection;
        connection.Id = "id";
        connection.RemoteIpAddress = IPAddress.Parse("192.0.2.1");
        connection.RemotePort = 1;
        connection.LocalIpAddress = IPAddress.Parse("192.0.2.2");
        connection.LocalPort = 2;
        context.TraceIdentifier = "trace";
        seen.Note("connection", $"{connection.Id} {connection.RemoteIpAddress}:{connection.RemotePort} {connection.LocalIpAddress}:{connection.LocalPort} {context.TraceIdentifier}");
    });

    [Fact]
    [Trait("Contract", "1")]
    public async Task Feature_OfTheFrameworkSetByTypeOrKey_FoundByBoth() => await Parity.AssertAsync(static (context, seen) =>
    {
        Exchange<IItemsFeature>(new ItemsFeature());
        Exchange<IServiceProvidersFeature>(new RequestServicesFeature(context, scopeFactory: null));
        Exchange<IQueryFeature>(new QueryFeature(new QueryCollection()));
        Exchange<IHttpAuthenticationFeature>(new HttpAuthenticationFeature());
        return Task.CompletedTask;

        void Exchange<TFeature>(TFeature other)
            where TFeature : class
        {
            var features = context.Features;
            var own = features.Get<TFeature>();
            features.Set(other);
            seen.Note(typeof(TFeature).Name, ReferenceEquals(features.Get<TFeature>(), other) && ReferenceEquals(features[typeof(TFeature)], other));
            features[typeof(TFeature)] = own;
            seen.Note("put back", ReferenceEquals(features.Get<TFeature>(), own) && ReferenceEquals(features[typeof(TFeature)], own));
        }
    });

    [Fact]
    [Trait("Contract", "1")]
    public async Task Feature_ReplacedAndRemoved_AsKestrel() => await Parity.AssertAsync(static (context, seen) =>
    {
        var features = context.Features;
        var revision = features.Revision;
        var own = features.Get<IHttpRequestFeature>();
        features.Set<IHttpRequestFeature>(new HttpRequestFeature { Path = "/other" });
        seen.Note("replaced", context.Request.Path);
        features[typeof(IHttpRequestFeature)] = own;
        seen.Note("put back", context.Request.Path);
        features.Set<IHttpMaxRequestBodySizeFeature>(null);
        seen.Note("removed", features.Get<IHttpMaxRequestBodySizeFeature>() is null && features[typeof(IHttpMaxRequestBodySizeFeature)] is null);
        features.Set<IEndpointFeature>(null);
        seen.Note("endpoint", context.GetEndpoint() is null);
        features.Set("of the application's own type");
        seen.Note("own type", features.Get<string>());
        features[typeof(string)] = null;
        seen.Note("removed", features.Get<string>());
        seen.Note("required", features.GetRequiredFeature<IHttpResponseFeature>() is not null);
        seen.Try("required and missing", () => features.GetRequiredFeature<ISessionFeature>());
        seen.Note("read-only", features.IsReadOnly);
        seen.Note("revision", features.Revision > revision);
    });

    [Fact]
    [Trait("Contract", "1")]
    [Trait("Contract", "D12")]
    public async Task ResponseBodyFeature_Wrapped_InnerOneStaysUsable()
    {
        var answer = await Parity.AssertAsync(static async (context, seen) =>
        {
            var own = context.Features.Get<IHttpResponseBodyFeature>()!;
            var stream = context.Response.Body;
            using var buffer = new MemoryStream();
            context.Response.Body = buffer;
            await context.Response.WriteAsync("held");
            await context.Response.BodyWriter.FlushAsync();
            seen.Note("started", context.Response.HasStarted);
            await own.Writer.WriteAsync(buffer.ToArray());
            seen.Note("started", context.Response.HasStarted);
            context.Response.Body = stream;
            seen.Note("restored", ReferenceEquals(own, context.Features.Get<IHttpResponseBodyFeature>()));
            await context.Response.WriteAsync(" and more");
        });

        Assert.Equal("held and more", answer.Outcome.Text);
    }

    [Fact]
    [Trait("Contract", "A9")]
    [Trait("Contract", "T7")]
    public async Task Features_OfTheRequestBefore_Gone()
    {
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            var features = context.Features;
            var leaked = features.Where(static feature => feature.Value is Leaked).Select(static feature => feature.Key.Name);
            var seen = $"{string.Join(' ', leaked)}|{context.Items.Count}|{features.Get<IHttpMaxRequestBodySizeFeature>() is null}";
            context.Items["key"] = "leaked";
            features.Set<IQueryFeature>(new Leaked());
            features.Set<ISessionFeature>(new Leaked());
            features.Set(new Leaked());
            features.Set<IHttpMaxRequestBodySizeFeature>(null);
            await context.Response.WriteAsync(seen);
        });

        for (var i = 0; i < 40; i++)
            Assert.Equal("|0|False", (await frontEnd.AskAsync()).Text);
    }

    [Fact]
    [Trait("Contract", "1")]
    [Trait("Contract", "T28")]
    [Trait("Contract", "T29")]
    public async Task Features_UsedAfterTheEnd_ChangeNoOtherRequest()
    {
        HttpContext? kept = null;
        IFeatureCollection features = null!;
        await using var frontEnd = await TestServer.ConnectAsync(context =>
        {
            kept ??= context;
            features ??= context.Features;
            return context.Response.WriteAsync($"{context.Request.Path} {context.Response.StatusCode} {context.RequestAborted.IsCancellationRequested}");
        });
        await frontEnd.AskAsync(RecordBytes.Get(uri: "/first"));

        for (var i = 0; i < 40; i++)
        {
            Assert.All(LateUses(features), static use => Assert.True(Record.Exception(use) is null or ObjectDisposedException or InvalidOperationException));
            Assert.Equal("/next 200 False", (await frontEnd.AskAsync(RecordBytes.Get(uri: "/next"))).Text);
        }
    }

    private static void AssertDifference(string[] expected, ServerAnswer of, ServerAnswer other)
    {
        var actual = of.Observed.Except(other.Observed).Select(static line => line.Split(':')[0]).Order(StringComparer.Ordinal).ToList();
        Assert.True(expected.SequenceEqual(actual), string.Join(' ', actual));
    }

    /// <summary>What a task that was left behind might do, with a feature it holds on to.</summary>
    private static List<Action> LateUses(IFeatureCollection features)
    {
        var request = features.Get<IHttpRequestFeature>()!;
        var response = features.Get<IHttpResponseFeature>()!;
        var body = features.Get<IHttpResponseBodyFeature>()!;
        var connection = features.Get<IHttpConnectionFeature>()!;
        var endpoint = features.Get<IEndpointFeature>()!;
        return
        [
            () => _ = request.Path,
            () => request.Path = "/late",
            () => request.Method = "LATE",
            () => request.Scheme = "late",
            () => request.RawTarget = "/late",
            () => request.Headers = new HeaderDictionary(),
            () => request.Headers["X-Late"] = "1",
            () => request.Body = Stream.Null,
            () => _ = connection.RemoteIpAddress,
            () => connection.RemotePort = 1,
            () => connection.ConnectionId = "late",
            () => features.Get<IHttpRequestIdentifierFeature>()!.TraceIdentifier = "late",
            () => features.Get<IHttpRequestLifetimeFeature>()!.RequestAborted = new CancellationToken(canceled: true),
            () => features.Get<IHttpRequestLifetimeFeature>()!.Abort(),
            () => features.Get<IHttpBodyControlFeature>()!.AllowSynchronousIO = true,
            () => features.Get<IHttpMaxRequestBodySizeFeature>()!.MaxRequestBodySize = 1,
            () => _ = features.Get<IServerVariablesFeature>()!["REMOTE_ADDR"],
            () => features.Get<IServerVariablesFeature>()!["REMOTE_ADDR"] = "late",
            () => endpoint.Endpoint = null,
            () => features.Get<IRouteValuesFeature>()!.RouteValues = new RouteValueDictionary(),
            () => features.Set("late"),
            () => features[typeof(string)] = "late",
            () => response.StatusCode = 201,
            () => response.ReasonPhrase = "late",
            () => response.Headers = new HeaderDictionary(),
            () => response.OnStarting(static _ => throw new InvalidOperationException("late"), ""),
            () => response.OnCompleted(static _ => throw new InvalidOperationException("late"), ""),
            () => body.Writer.GetMemory(),
            () => body.Stream.WriteAsync(new byte[1]).AsTask().GetAwaiter().GetResult(),
            () => body.StartAsync().GetAwaiter().GetResult(),
            () => body.CompleteAsync().GetAwaiter().GetResult(),
        ];
    }

    private sealed class Leaked : IQueryFeature, ISessionFeature
    {
        public IQueryCollection Query { get; set; } = QueryCollection.Empty;

        public ISession Session { get; set; } = null!;
    }
}
