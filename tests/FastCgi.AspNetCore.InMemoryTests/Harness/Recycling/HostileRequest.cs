using System.Collections.Concurrent;
using System.Net;
using System.Security.Claims;
using System.Text;
using FastCgi.AspNetCore.Testing;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Extensions;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.AspNetCore.Http.Features.Authentication;
using Microsoft.AspNetCore.Server.Kestrel.Core.Features;

namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>
/// A request that leaves a trace wherever an application can: whatever the next request of its object sees of them is a defect. Its ways to end
/// are in <see cref="RunAsync"/>.
/// </summary>
internal sealed class HostileRequest(int number)
{
    /// <summary>What all the traces have in them.</summary>
    public const string Mark = "h0stile";

    /// <summary>How many ways a request has to end.</summary>
    public const int WaysToEnd = 9;

    private static readonly byte[] s_long = Apps.Pattern(100_000);

    // On a connection that is kept, or not; the body is not all.
    private static readonly byte[][] s_starts = [Begin(keepConnection: true), Begin(keepConnection: false)];

    private readonly TaskCompletionSource _go = new();
    private bool _isOver;

    public static byte[] MarkBytes { get; } = Encoding.ASCII.GetBytes(Mark);

    /// <summary>Flows with the execution context.</summary>
    public static AsyncLocal<string> Local { get; } = new();

    /// <summary>What was called when its request was over.</summary>
    public static ConcurrentQueue<string> LateCalls { get; } = new();

    private int WayToEnd => number % WaysToEnd;

    /// <summary>Sends the request and lets it end, on this thread.</summary>
    public void Run(FrontEnd frontEnd)
    {
        frontEnd.Send(s_starts[number % 2]);
        if (WayToEnd == 0)
            frontEnd.Send(RecordBytes.Record(RecordBytes.Stdin, 1));
        if (WayToEnd == 6)
            frontEnd.Send(RecordBytes.Abort());
        if (WayToEnd == 7)
            frontEnd.Close();
        _go.TrySetResult();
        frontEnd.Close();
    }

    /// <summary>From now on nothing of the request may be called.</summary>
    public void End() => Volatile.Write(ref _isOver, true);

    /// <summary>The application.</summary>
    public async Task RunAsync(HttpContext context)
    {
        Local.Value = Mark;
        var body = await context.Request.BodyReader.ReadAsync();
        context.Request.BodyReader.AdvanceTo(body.Buffer.GetPosition(7), body.Buffer.GetPosition(9));
        var aborted = context.RequestAborted;
        aborted.Register(static () => { });
        _ = context.Request.Headers["X-Trace"];
        _ = context.Request.Headers.Count;
        _ = context.Request.GetDisplayUrl();
        context.Features.GetRequiredFeature<IFastCgiRequestFeature>().StandardError.WriteLine(Mark);
        Register(context);
        ReplaceRequest(context);
        ReplaceFeatures(context);
        SetResponse(context.Response);
        await EndAsync(context);
    }

    private async Task EndAsync(HttpContext context)
    {
        var response = context.Response;
        switch (WayToEnd)
        {
            case 0:
                await response.WriteAsync(Mark);
                return;
            case 1:
                await response.BodyWriter.WriteAsync(s_long);
                throw new InvalidOperationException(Mark);
            case 2:
                await response.BodyWriter.WriteAsync(MarkBytes);
                context.Abort();
                response.BodyWriter.GetMemory(5_000);
                return;
            case 3:
                throw new InvalidOperationException(Mark);
            case 4:
                throw new BadHttpRequestException(Mark, StatusCodes.Status418ImATeapot);
            case 5:
                response.BodyWriter.GetMemory(MarkBytes.Length).Span.Fill((byte)'h');
                await response.CompleteAsync();
                return;
            case 8:
                response.ContentLength = 1_000;
                await response.WriteAsync(Mark);
                response.Body = new MemoryStream();
                return;
            default:
                await response.WriteAsync(Mark);
                await _go.Task;
                return;
        }
    }

    private void Register(HttpContext context)
    {
        var (response, target) = (context.Response, $"request {number}");
        response.OnStarting(() => OnCalled($"OnStarting of {target}"));
        response.OnCompleted(() => OnCalled($"OnCompleted of {target}"));
        response.RegisterForDispose(new Disposable(() => OnCalled($"RegisterForDispose of {target}")));
    }

    private static void ReplaceRequest(HttpContext context)
    {
        context.Items[Mark] = Mark;
        context.User = new ClaimsPrincipal(new ClaimsIdentity([new Claim(ClaimTypes.Name, Mark)], Mark));
        context.TraceIdentifier = Mark;
        context.SetEndpoint(new Endpoint(null, null, Mark));
        context.Request.RouteValues[Mark] = Mark;
        context.RequestAborted = new CancellationToken(canceled: true);
        var (request, connection) = (context.Request, context.Connection);
        (request.Scheme, request.Method, request.Protocol) = (Mark, Mark, Mark);
        (request.PathBase, request.Path, request.QueryString) = ("/" + Mark, "/" + Mark, new QueryString("?" + Mark));
        request.Headers["X-" + Mark] = Mark;
        request.Headers.Host = Mark;
        request.Headers.ContentLength = 12_345;
        request.Body = new MemoryStream(MarkBytes);
        (connection.Id, connection.RemoteIpAddress, connection.RemotePort) = (Mark, IPAddress.Broadcast, 666);
        (connection.LocalIpAddress, connection.LocalPort) = (IPAddress.Broadcast, 667);
        var own = context.Features.GetRequiredFeature<IHttpRequestFeature>();
        own.RawTarget = Mark;
        own.Headers = new HeaderDictionary { [Mark] = Mark };
        context.Features.GetRequiredFeature<IServerVariablesFeature>()["REMOTE_USER"] = Mark;
    }

    private static void ReplaceFeatures(HttpContext context)
    {
        var features = context.Features;
        features.GetRequiredFeature<IHttpBodyControlFeature>().AllowSynchronousIO ^= true;
        features.GetRequiredFeature<IHttpMinRequestBodyDataRateFeature>().MinDataRate = null;
        _ = features.GetRequiredFeature<IFastCgiRequestFeature>().Parameters;
        _ = features.GetRequiredFeature<ITlsHandshakeFeature>();
        _ = features.GetRequiredFeature<ITlsConnectionFeature>().ClientCertificate;
        features.Set(new HostileFeature());
        features.Set<IServiceProvidersFeature>(new RequestServicesFeature(context, scopeFactory: null));
        features.Set<IQueryFeature>(new QueryFeature(new QueryCollection()));
        features.Set<IFormFeature>(new FormFeature(FormCollection.Empty));
        features.Set<IHttpRequestTrailersFeature>(new HostileFeature());
        features.Set<IHttpResponseTrailersFeature>(new HostileFeature());
        features.Set<IHttpAuthenticationFeature>(new HttpAuthenticationFeature { User = context.User });
        features[typeof(IHttpRequestIdentifierFeature)] = new HttpRequestIdentifierFeature { TraceIdentifier = Mark };
        features[typeof(IHttpConnectionFeature)] = new HttpConnectionFeature { ConnectionId = Mark };
    }

    private static void SetResponse(HttpResponse response)
    {
        response.StatusCode = 299;
        response.HttpContext.Features.GetRequiredFeature<IHttpResponseFeature>().ReasonPhrase = Mark;
        response.Headers["X-" + Mark] = Mark;
        response.Headers.Location = Mark;
        response.Headers.SetCookie = new[] { Mark + "=1", Mark + "=2" };
        response.ContentType = "text/event-stream; " + Mark;
        response.HttpContext.Features.GetRequiredFeature<IHttpResponseBodyFeature>().DisableBuffering();
    }

    private Task OnCalled(string what)
    {
        if (Volatile.Read(ref _isOver))
            LateCalls.Enqueue(what);
        return Task.CompletedTask;
    }

    private static byte[] Begin(bool keepConnection)
    {
        var more = Enumerable.Range(0, 100).Select(static i => ($"HTTP_X_{i}", Mark)).Append(("HTTP_X_TRACE", "h\u00f6stile")).Append(("REMOTE_USER", Mark))
            .Append(("HTTPS", "on")).Append(("SSL_PROTOCOL", "TLSv1.3")).Append(("PATH_BASE", "/" + Mark)).Append(("CONTENT_LENGTH", "30000"));
        return
        [
            .. RecordBytes.Begin(keepConnection: keepConnection),
            .. RecordBytes.ParamsStream(1, RecordBytes.RequestParams("POST", $"/{Mark}/a?{Mark}", [.. more])),
            .. RecordBytes.Record(RecordBytes.Stdin, 1, Apps.Pattern(20_000)),
        ];
    }

    private sealed class Disposable(Action dispose) : IDisposable
    {
        public void Dispose() => dispose();
    }
}

/// <summary>A feature that no server has.</summary>
internal sealed class HostileFeature : IHttpRequestTrailersFeature, IHttpResponseTrailersFeature
{
    public bool Available => true;

    IHeaderDictionary IHttpRequestTrailersFeature.Trailers { get; } = new HeaderDictionary();

    IHeaderDictionary IHttpResponseTrailersFeature.Trailers { get; set; } = new HeaderDictionary();
}
