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
}
