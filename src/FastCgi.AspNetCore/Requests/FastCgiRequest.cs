namespace FastCgi.AspNetCore.Requests;

/// <summary>
/// One request: first its params, then the feature collection for the application. Parts:
/// <c>.Features</c> (the collection), <c>.Request</c>, <c>.Body</c> and <c>.Lifetime</c>. <see cref="FastCgiRequest{TContext}"/> runs the application.
/// </summary>
internal abstract partial class FastCgiRequest(ServerContext server, RequestConnection connection, in RequestStart start) : IFeatureCollection
{
    private RequestHeaders? _headers;
    private RequestHead _head;

    public ServerContext Server => server;
    public RequestConnection Connection => connection;
    public ushort Id { get; } = start.Id;
    public FastCgiRole Role { get; } = start.Role;
    public bool KeepConnection { get; } = start.KeepConnection;

    /// <summary>The number of the request on its connection.</summary>
    public uint Sequence { get; } = start.Sequence;
    public long BeganAt { get; } = start.BeganAt;
    public RequestParameters Parameters { get; private set; } = new(server.Mapping);

    /// <summary>The headers as received.</summary>
    public IHeaderDictionary Headers => _headers ?? Keep(ref _headers, new RequestHeaders(this));

    /// <summary>Set when the params are complete.</summary>
    public FastCgiResponse Response { get; private set; } = null!;

    /// <summary>Why the server rejects the request, if so.</summary>
    public RequestRejection Rejection { get; private set; }

    /// <summary>Whether it is a health check, to which the server responds.</summary>
    public bool IsPing { get; private set; }

    /// <summary>Whether the application handles the request, not the server.</summary>
    public bool IsForApplication => Rejection == RequestRejection.None && !IsPing;
    public FastCgiRequest? NextReady { get; set; }
    public RequestPlace Place { get; set; }
    public ref readonly RequestHead Head => ref _head;

    /// <summary>The path after the base; <see langword="null"/> if the request is rejected.</summary>
    public string? Path => _head.Path;
    public ILogger Log => server.Log;

    /// <summary>Takes the lock of the request, which exists once the params are complete.</summary>
    public RequestScope EnterLock() => Response.Output.EnterLock();

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

    /// <summary>Makes the server reject the request. The first reason counts.</summary>
    public void Reject(RequestRejection rejection)
    {
        if (Rejection == RequestRejection.None)
            Rejection = rejection;
    }

    /// <summary>Maps the params, which are complete or rejected, and makes the request ready.</summary>
    public void Prepare(ConnectionScope scope)
    {
        Parameters.Complete();
        if (Rejection == RequestRejection.None)
            Rejection = CgiRequestMapper.Map(Parameters.Span, server.Mapping, out _head);
        IsPing = Rejection == RequestRejection.None && Role == FastCgiRole.Responder && IsForPing(in _head);
        Response = new FastCgiResponse(this, isHead: ReferenceEquals(_head.Method, HttpMethods.Head));
        Input = CreateInput();
        Volatile.Write(ref _phase, (int)RequestPhase.Waiting);
    }

    /// <summary>Calls the application, or answers a request that is not for it, unless another thread does or the request is aborted. Never throws.</summary>
    /// <returns>Whether the request is finished. If not, the application awaits something.</returns>
    public abstract bool Execute();

    /// <summary>Has it executed on another thread. Returns at once.</summary>
    public void RunLater() => connection.Run(this);

    /// <summary>Whether it is for the status, which never waits for other requests.</summary>
    public bool IsForStatus => server.Admission.IsForStatus(Path);

    /// <summary>Lets the application choose how non-ASCII headers are decoded.</summary>
    /// <returns>Whether the request can be passed to it.</returns>
    protected bool TryDecodeHeaders()
    {
        if (server.Mapping.RequestHeaderEncodingSelector is not null)
            Rejection = Parameters.DecodeByApplication();
        return Rejection == RequestRejection.None;
    }

    private bool IsForPing(in RequestHead head)
        => server.Options.PingPath is { } path && head.Path == path
            && (HttpMethods.IsGet(head.Method) || HttpMethods.IsHead(head.Method));
}
