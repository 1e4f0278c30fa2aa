using System.Collections.Concurrent;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.AspNetCore.Http.Features.Authentication;

namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>Looks at each request before hosting does, at what can be looked at without a change of it.</summary>
internal sealed class CheckedApplication<TContext>(IHttpApplication<TContext> application, FastCgiServerOptions options, ConcurrentQueue<string> leaks)
    : IHttpApplication<TContext>
    where TContext : notnull
{
    public TContext CreateContext(IFeatureCollection contextFeatures)
    {
        Check(contextFeatures);
        return application.CreateContext(contextFeatures);
    }

    public Task ProcessRequestAsync(TContext context) => application.ProcessRequestAsync(context);

    public void DisposeContext(TContext context, Exception? exception) => application.DisposeContext(context, exception);

    private void Check(IFeatureCollection features)
    {
        Require(HostileRequest.Local.Value is null, "AsyncLocal");
        RequireAbsent<HostileFeature>(features);
        RequireAbsent<IItemsFeature>(features);
        RequireAbsent<IServiceProvidersFeature>(features);
        RequireAbsent<IQueryFeature>(features);
        RequireAbsent<IFormFeature>(features);
        RequireAbsent<IHttpAuthenticationFeature>(features);
        RequireAbsent<IHttpRequestTrailersFeature>(features);
        RequireAbsent<IHttpResponseTrailersFeature>(features);
        RequireOwn<IHttpRequestFeature>(features);
        RequireOwn<IHttpRequestIdentifierFeature>(features);
        RequireOwn<IHttpConnectionFeature>(features);
        Require(features.GetRequiredFeature<IEndpointFeature>().Endpoint is null, "endpoint");
        var response = features.GetRequiredFeature<IHttpResponseFeature>();
        Require(response is { StatusCode: 200, ReasonPhrase: null, HasStarted: false, Headers.Count: 0 }, "response");
        Require(features.GetRequiredFeature<IHttpBodyControlFeature>().AllowSynchronousIO == options.AllowSynchronousIO, "AllowSynchronousIO");
        Require(features.GetRequiredFeature<IHttpMaxRequestBodySizeFeature>() is var size && size.MaxRequestBodySize == options.Limits.MaxRequestBodySize && !size.IsReadOnly, "body size");
    }

    private void RequireAbsent<TFeature>(IFeatureCollection features)
        where TFeature : class => Require(features.Get<TFeature>() is null, typeof(TFeature).Name);

    private void RequireOwn<TFeature>(IFeatureCollection features)
        where TFeature : class => Require(ReferenceEquals(features.Get<TFeature>(), features), typeof(TFeature).Name);

    private void Require(bool isSo, string what)
    {
        if (!isSo)
            leaks.Enqueue($"The request has the {what} of one before it.");
    }
}
