using Microsoft.AspNetCore.Http.Features.Authentication;

namespace FastCgi.AspNetCore.InMemoryTests.Contract;

/// <summary>The feature collection: its content, its gaps, and its state after the request.</summary>
public class RequestFeatureTests
{
    // Absent, because no front-end can provide what they promise or, for items and persistent state, because unrelated
    // clients share the connection.
    private static readonly string[] s_onlyInKestrel =
    [
        nameof(IHttpExtendedConnectFeature), "IHttpMinResponseDataRateFeature", nameof(IHttpRequestTrailersFeature),
        nameof(IHttpUpgradeFeature), "IHttpWebTransportFeature", "IPersistentStateFeature",
    ];

    private static readonly string[] s_onlyHere = [nameof(IFastCgiRequestFeature), nameof(IServerVariablesFeature)];

    private static readonly Dictionary<string, ObservedApplication> s_uses = new()
    {
        ["request feature that middleware sets"] = static async (context, seen) =>
        {
            var request = context.Features.Get<IHttpRequestFeature>()!;
            request.Protocol = "HTTP/2";
            request.Scheme = "https";
            request.Method = "GET";
            request.PathBase = "/base";
            request.Path = "/path";
            request.QueryString = "?q";
            request.RawTarget = "/raw";
            seen.Note("line", $"{context.Request.Protocol} {context.Request.Scheme} {context.Request.Method} "
                + $"{context.Request.PathBase} {context.Request.Path} {context.Request.QueryString} "
                + $"{request.RawTarget}");
            await context.Response.WriteAsync("Hello");
        },
        ["connection and identifier that middleware sets"] = static (context, seen) =>
        {
            seen.Note("trace", context.TraceIdentifier == $"{context.Connection.Id}:00000001");
            var connection = context.Connection;
            connection.Id = "id";
            connection.RemoteIpAddress = IPAddress.Parse("192.0.2.1");
            connection.RemotePort = 1;
            connection.LocalIpAddress = IPAddress.Parse("192.0.2.2");
            connection.LocalPort = 2;
            context.TraceIdentifier = "trace";
            seen.Note("connection", $"{connection.Id} {connection.RemoteIpAddress}:{connection.RemotePort} "
                + $"{connection.LocalIpAddress}:{connection.LocalPort} {context.TraceIdentifier}");
            return Task.CompletedTask;
        },
        ["features of the framework, set by type or key"] = static (context, seen) =>
        {
            Exchange<IItemsFeature>(context, seen, new ItemsFeature());
            Exchange<IServiceProvidersFeature>(context, seen, new RequestServicesFeature(context, scopeFactory: null));
            Exchange<IQueryFeature>(context, seen, new QueryFeature(new QueryCollection()));
            Exchange<IHttpAuthenticationFeature>(context, seen, new HttpAuthenticationFeature());
            return Task.CompletedTask;
        },
        ["features that are replaced and removed"] = static (context, seen) =>
        {
            var features = context.Features;
            var revision = features.Revision;
            var own = features.Get<IHttpRequestFeature>();
            features.Set<IHttpRequestFeature>(new HttpRequestFeature { Path = "/other" });
            seen.Note("replaced", context.Request.Path);
            features[typeof(IHttpRequestFeature)] = own;
            seen.Note("put back", context.Request.Path);
            features.Set<IHttpMaxRequestBodySizeFeature>(null);
            seen.Note(
                "removed",
                features.Get<IHttpMaxRequestBodySizeFeature>() is null
                    && features[typeof(IHttpMaxRequestBodySizeFeature)] is null);
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
            return Task.CompletedTask;
        },
        ["a body feature that is wrapped"] = static async (context, seen) =>
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
        },
        ["features of every kind of type, absent and set"] = static (context, seen) =>
        {
            Use(context, seen, 5);
            Use<int?>(context, seen, 5);
            Use<(long, long, long, long)>(context, seen, (1, 2, 3, 4));
            Use<(string, object)?>(context, seen, ("a", "b"));
            Use(context, seen, Guid.Empty);
            Use(context, seen, DayOfWeek.Friday);
            Use(context, seen, "a string");
            Use<object>(context, seen, "an object");
            Use<int[]>(context, seen, [1]);
            Use<Action>(context, seen, static () => { });
            Use<IComparable>(context, seen, 5);
            Use<IDerivedFeature>(context, seen, new DerivedFeature());
            Use<DerivedFeature>(context, seen, new DerivedFeature());
            Use<QueryFeature>(context, seen, new QueryFeature(new QueryCollection()));
            return Task.CompletedTask;
        },
        ["features of another type than their key"] = static (context, seen) =>
        {
            Misuse<IItemsFeature>(context, seen);
            Misuse<IQueryFeature>(context, seen);
            Misuse<IServiceProvidersFeature>(context, seen);
            Misuse<IHttpAuthenticationFeature>(context, seen);
            Misuse<IHttpRequestFeature>(context, seen);
            Misuse<IComparable>(context, seen);
            Misuse<Guid>(context, seen);
            Misuse<Guid?>(context, seen);
            Misuse<long>(context, seen);
            seen.Try("no key", () => context.Features[null!] = 1);
            seen.Try("no key", () => _ = context.Features[null!]);
            return Task.CompletedTask;
        },
        ["response feature that nobody has set"] = static (context, seen) =>
        {
            var feature = context.Features.Get<IHttpResponseFeature>()!;
            seen.Note("defaults", $"{feature.StatusCode} {feature.ReasonPhrase is null} {feature.Headers.Count}");
            return Task.CompletedTask;
        },
    };

    public static TheoryData<string, string> Uses => Rows.Cross(s_uses.Keys, "GET", "HEAD");

    [Theory, MemberData(nameof(Uses))]
    [Contract("1", "B11", "D12", "H14")]
    public Task Features_AnyUse_AsKestrel(string use, string method)
        => Parity.AssertAsync(s_uses[use], new TestRequest(method, "/a?b"));

    [Fact]
    [Contract("1", "T2", "T3")]
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

    private static void Use<TFeature>(HttpContext context, Observations seen, TFeature feature)
    {
        var features = context.Features;
        Look<TFeature>(features, seen, "absent");
        features.Set(feature);
        Look<TFeature>(features, seen, "set");
        features.Set<TFeature>(default);
        Look<TFeature>(features, seen, "set to the default");
        features[typeof(TFeature)] = feature;
        Look<TFeature>(features, seen, "set by key");
        features[typeof(TFeature)] = null;
        Look<TFeature>(features, seen, "removed");
    }

    private static void Misuse<TFeature>(HttpContext context, Observations seen)
    {
        var features = context.Features;
        seen.Try($"{typeof(TFeature)} = a string", () => features[typeof(TFeature)] = "another type");
        Look<TFeature>(features, seen, "of another type");
        seen.Try($"{typeof(TFeature)} = a number", () => features[typeof(TFeature)] = 1);
        Look<TFeature>(features, seen, "of another type");
    }

    private static void Look<TFeature>(IFeatureCollection features, Observations seen, string state)
    {
        seen.Try($"{typeof(TFeature)} {state}", () => seen.Note("value", Describe(features.Get<TFeature>())));
        seen.Note("by key", Describe(features[typeof(TFeature)]));
    }

    private static void Exchange<TFeature>(HttpContext context, Observations seen, TFeature other)
        where TFeature : class
    {
        var features = context.Features;
        var own = features.Get<TFeature>();
        features.Set(other);
        seen.Note(typeof(TFeature).Name, ReferenceEquals(
            features.Get<TFeature>(), other) && ReferenceEquals(features[typeof(TFeature)], other));
        features[typeof(TFeature)] = own;
        seen.Note(
            "put back",
            ReferenceEquals(features.Get<TFeature>(), own) && ReferenceEquals(features[typeof(TFeature)], own));
    }

    private static void AssertDifference(string[] expected, ServerAnswer of, ServerAnswer other)
    {
        var actual = of.Observed.Except(other.Observed)
            .Select(static line => line.Split(':')[0]).Order(StringComparer.Ordinal).ToList();
        Assert.True(expected.SequenceEqual(actual), string.Join(' ', actual));
    }

    // A server's own feature differs in its type.
    private static object? Describe(object? feature) => feature is IHttpRequestFeature ? "a request" : feature;

    private interface IDerivedFeature : IHttpRequestFeature;

    private sealed class DerivedFeature : HttpRequestFeature, IDerivedFeature;
}
