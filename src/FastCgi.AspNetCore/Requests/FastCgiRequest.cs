using FastCgi.AspNetCore.Cgi;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.Extensions.Logging;

namespace FastCgi.AspNetCore.Requests;

/// <summary>
/// One request: the params while they come, then the feature collection that the application works with, and the lock of all that belongs to it.
/// Its parts: <c>.Features</c> is the collection, <c>.Request</c> what came, <c>.Body</c> the request body as features,
/// <c>.Lifetime</c> its phases and how it is aborted; <see cref="FastCgiRequest{TContext}"/> runs the application.
/// </summary>
internal abstract partial class FastCgiRequest(ServerContext server, RequestConnection connection, in RequestStart start) : RequestLock, IFeatureCollection
{
    private RequestHeaders? _headers;
    private RequestHead _head;

    public ServerContext Server => server;

    public RequestConnection Connection => connection;

    /// <summary>The request id on that connection.</summary>
    public ushort Id { get; } = start.Id;

    /// <summary>What the web server wants.</summary>
    public FastCgiRole Role { get; } = start.Role;

    /// <summary>Whether the web server keeps the connection after this request.</summary>
    public bool KeepConnection { get; } = start.KeepConnection;

    /// <summary>Which request of its connection it is.</summary>
    public uint Sequence { get; } = start.Sequence;

    /// <summary>When BEGIN_REQUEST came, by the clock of the server.</summary>
    public long BeganAt { get; } = start.BeganAt;

    public RequestParameters Parameters { get; private set; } = new(server.Mapping);

    /// <summary>The headers as they came.</summary>
    public IHeaderDictionary Headers => _headers ?? Keep(ref _headers, new RequestHeaders(this));

    /// <summary>The response; from when all params have come.</summary>
    public FastCgiResponse Response { get; private set; } = null!;

    /// <summary>Why the server answers the request itself, if it does.</summary>
    public RequestRejection Rejection { get; private set; }

    /// <summary>The request that is started after this one, while both wait to be.</summary>
    public FastCgiRequest? NextReady { get; set; }

    /// <summary>How the request counts against the limit of concurrent requests. Of <see cref="RequestAdmission"/>.</summary>
    public RequestPlace Place { get; set; }

    /// <summary>What the params say.</summary>
    public ref readonly RequestHead Head => ref _head;

    /// <summary>The path behind the base; <see langword="null"/> if the request is rejected.</summary>
    public string? Path => _head.Path;

    public ILogger Log => server.Log;

    /// <summary>Takes a piece of the params.</summary>
    /// <param name="content">The piece.</param>
    /// <param name="isWhole">Whether it is the whole content of its record.</param>
    public void AppendParameters(ReadOnlySpan<byte> content, bool isWhole)
    {
        if (Rejection != RequestRejection.None)
            return;

        if (Parameters.Length + (long)content.Length > server.Options.Limits.MaxRequestParametersTotalSize)
            Reject(RequestRejection.ParametersTooLarge);
        else
            Parameters.Append(content, isWhole);
    }

    /// <summary>The server answers the request itself. The first reason counts.</summary>
    public void Reject(RequestRejection rejection)
    {
        if (Rejection == RequestRejection.None)
            Rejection = rejection;
    }

    /// <summary>The params are complete, or all that will be looked at: maps them and gets ready to be executed.</summary>
    public void Prepare(ConnectionScope scope)
    {
        Parameters.Complete();
        if (Rejection == RequestRejection.None)
            Rejection = CgiRequestMapper.Map(Parameters.Span, server.Mapping, out _head);
        if (server.Options.PingPath is { } ping && IsPing(ping))
            Reject(RequestRejection.Ping);

        Response = new FastCgiResponse(this, isHead: ReferenceEquals(_head.Method, HttpMethods.Head));
        Input = CreateInput();
        BecomeReady(scope);
    }

    /// <summary>
    /// Calls the application, or answers a request that is rejected, unless another thread does or the request is aborted. It never throws.
    /// </summary>
    /// <returns>Whether there is nothing left to do; if not, the application awaits something, and goes on later.</returns>
    public abstract bool Execute();

    /// <summary>Executes the request on a thread that nobody waits for.</summary>
    public void RunLater() => server.Runner.Run(this);

    /// <summary>Lets the application choose how headers beyond ASCII are decoded.</summary>
    /// <returns>Whether the request can be given to it.</returns>
    protected bool TryDecodeHeaders()
    {
        if (server.Mapping.RequestHeaderEncodingSelector is not null)
            Rejection = Parameters.DecodeByApplication();
        return Rejection == RequestRejection.None;
    }

    private bool IsPing(string path)
        => Rejection == RequestRejection.None && _head.Path == path && Role == FastCgiRole.Responder && (HttpMethods.IsGet(_head.Method) || HttpMethods.IsHead(_head.Method));
}
