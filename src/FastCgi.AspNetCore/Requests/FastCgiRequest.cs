namespace FastCgi.AspNetCore.Requests;

/// <summary>The parameters and features of a request. <see cref="FastCgiRequest{TContext}"/> runs it.</summary>
internal abstract partial class FastCgiRequest(
    ServerContext server, FastCgiConnection connection, in RequestStart start)
    : RequestStream(connection, in start), IFeatureCollection
{
    // For the status. Clients control this text, which may be as long as all parameters together.
    private const int MaxPath = 500;
    private const int MaxShortText = 50;

    private RequestHeaders? _headers;
    private RequestHead _head;

    public ServerContext Server => server;

    public RequestParameters Parameters { get; private set; } = null!;

    public IHeaderDictionary Headers => _headers ?? Keep(ref _headers, new RequestHeaders(this));

    public FastCgiResponse Response { get; private set; } = null!;

    public WebServerKind WebServer => WebServerKinds.Of(Parameters.Software);

    public bool IsPing { get; private set; }

    /// <summary>Whether advice may help. The first request on a connection shows what the web server passes.</summary>
    public bool HasSymptom => Rejection != RequestRejection.None || _head.LacksTarget || _head.HasHostWithoutPort
        || Sequence == 1;

    public bool IsForApplication => Rejection == RequestRejection.None && !IsPing;
    public ref readonly RequestHead Head => ref _head;

    /// <summary>The path after the base; <see langword="null"/> if the request is rejected.</summary>
    public string? Path => _head.Path;
    public ILogger Log => server.Log;

    public ConnectionScope EnterLock() => Connection.EnterLock();

    protected override bool TryPrepare(byte[] parameters)
    {
        Parameters = new RequestParameters(server.Mapping, parameters);
        if (Rejection == RequestRejection.None)
            Reject(CgiRequestMapper.Map(parameters, server.Mapping, out _head));
        IsPing = Rejection == RequestRejection.None && Role == FastCgiRole.Responder
            && server.Options.PingPath is { } path && _head.Path == path
            && (HttpMethods.IsGet(_head.Method) || HttpMethods.IsHead(_head.Method));
        Response = new FastCgiResponse(this, isHead: ReferenceEquals(_head.Method, HttpMethods.Head));
        // The body belongs to the handler of the request. An authorizer gets none, regardless of its parameters.
        if (Role == FastCgiRole.Authorizer)
            _head.ContentLength = null;
        BeginInput(_head.ContentLength);
        // HAProxy, lighttpd, Caddy, and mod_fcgid send 0 with every request without a body.
        if (_head.ContentLength == 0 && !IsMethodWithBody(_head.Method))
            _head.ContentLength = null;
        if (!IsForApplication)
            return true;

        var slot = server.Admission.Admit(this, Path);
        if (slot is null)
            Reject(RequestRejection.TooManyRequests);
        return slot != RequestSlot.Queued;
    }

    /// <summary>Calls the application or responds, unless another thread does or it is aborted. Never throws.</summary>
    /// <returns>Whether the request is finished. If not, the application is awaiting.</returns>
    public abstract bool Execute();

    /// <summary>Whether the request is for the status, which never waits for other requests.</summary>
    public bool IsForStatus => server.Admission.IsForStatus(Path);

    /// <summary>Lets the application choose how non-ASCII headers are decoded.</summary>
    protected bool TryDecodeHeaders()
    {
        if (server.Options.RequestHeaderEncodingSelector is not null)
            Reject(Parameters.DecodeByApplication());
        return Rejection == RequestRejection.None;
    }

    /// <summary>Describes the request for the status, at no cost until the status is read.</summary>
    public override RequestDescription Describe(ConnectionScope scope, long now)
    {
        var age = Math.Round(Server.Time.GetElapsedTime(BeganAt, now).TotalSeconds, 1);
        if (!HasAllParameters)
            return new RequestDescription(
                Connection.Id, Id, Sequence, age, string.Empty, string.Empty, null,
                "receiving parameters", 0, 0);

        // Without the query, which may contain a secret.
        return new RequestDescription(
            Connection.Id,
            Id,
            Sequence,
            age,
            LogText.Clean(_head.Method ?? string.Empty, MaxShortText),
            LogText.Clean(_head.Path ?? string.Empty, MaxPath),
            Parameters.GetVariable("REMOTE_ADDR") is { } client ? LogText.Clean(client, MaxShortText) : null,
            GetState(scope),
            ReceivedBodyLength,
            Response.In(scope).BytesWritten);
    }

    public override void OnSlow(RequestDescription description, ref ReadyRequests ready)
        => ready.Report(() => Server.Advise(description, static (advisor, slow) => advisor.OnSlow(slow)));

    private string GetState(ConnectionScope scope)
    {
        if (Slot == RequestSlot.Queued)
            return "in the queue";
        if (In(scope).Waiter is not null)
            return "waiting for the web server to accept the response";

        return IsReading ? "waiting for the body" : "in the application";
    }
}
