using FastCgi.AspNetCore.Cgi;
using FastCgi.AspNetCore.Responses;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.Extensions.Logging;

namespace FastCgi.AspNetCore.Requests;

/// <summary>
/// One request: the params while they come, then the feature collection that the application works with. The object serves one
/// request after another. Its parts: <c>.Features</c> is the collection, <c>.Request</c> what came, <c>.Body</c> the request body as features,
/// <c>.Lifetime</c> how it is aborted; <see cref="FastCgiRequest{TContext}"/> runs the application.
/// </summary>
internal abstract partial class FastCgiRequest : ResponseOwner, IFeatureCollection
{
    private readonly RequestHeaders _headers;
    private RequestHead _head;

    protected FastCgiRequest(ServerContext server)
    {
        Server = server;
        Response = new FastCgiResponse(this);
        _headers = new RequestHeaders(Response.Output);
        Parameters = new RequestParameters();
        Input = new RequestInput(this);
    }

    /// <summary>What the requests of the server share.</summary>
    protected ServerContext Server { get; }

    /// <summary>The connection the request came on.</summary>
    public RequestConnection Connection { get; private set; } = null!;

    /// <summary>The request id on that connection.</summary>
    public ushort Id { get; private set; }

    /// <summary>What the web server wants.</summary>
    public FastCgiRole Role { get; private set; }

    /// <summary>Whether the web server keeps the connection after this request.</summary>
    public bool KeepConnection { get; private set; }

    /// <summary>The params.</summary>
    public RequestParameters Parameters { get; }

    /// <summary>The response.</summary>
    public FastCgiResponse Response { get; }

    /// <summary>Why the server answers the request itself, if it does.</summary>
    public RequestRejection Rejection { get; private set; }

    /// <summary>The request that is started after this one, while both wait to be.</summary>
    public FastCgiRequest? NextReady { get; set; }

    /// <summary>How the request counts against the limit of concurrent requests. Of <see cref="RequestAdmission"/>.</summary>
    public RequestPlace Place { get; set; }

    /// <summary>Whether all params have come. With the lock of the connection held.</summary>
    public bool HasAllParameters => State.Phase != RequestPhase.Receiving;

    /// <summary>When BEGIN_REQUEST came, by the clock of the server.</summary>
    public long BeganAt { get; set; }

    /// <summary>Whether the log tells that the request is slow. With the lock of the connection held.</summary>
    public bool IsReportedSlow { get; set; }

    /// <summary>The path behind the base; <see langword="null"/> if the request is rejected.</summary>
    public string? Path => _head.Path;

    /// <summary>Whether no parameter says which path is asked for.</summary>
    public bool LacksTarget => _head.LacksTarget;

    /// <inheritdoc/>
    public override IHeaderDictionary RequestHeaders => _headers;

    /// <inheritdoc/>
    public override ILogger Log => Server.Log;

    /// <inheritdoc/>
    public override string ConnectionId => Connection.Id;

    /// <summary>Begins another request.</summary>
    /// <param name="connection">The connection it came on.</param>
    /// <param name="id">Its id there.</param>
    /// <param name="role">What the web server wants.</param>
    /// <param name="keepConnection">Whether the connection is kept after it.</param>
    /// <param name="sequence">Which request of the connection it is.</param>
    public void Begin(RequestConnection connection, ushort id, FastCgiRole role, bool keepConnection, uint sequence)
    {
        _sequence = sequence;
        Connection = connection;
        Id = id;
        Role = role;
        KeepConnection = keepConnection;
        Rejection = RequestRejection.None;
        IsReportedSlow = false;
        State.Begin();
    }

    /// <summary>Takes a piece of the params.</summary>
    /// <param name="content">The piece.</param>
    /// <param name="isWhole">Whether it is the whole content of its record.</param>
    public void AppendParameters(ReadOnlySpan<byte> content, bool isWhole)
    {
        if (Rejection != RequestRejection.None)
            return;

        if (Parameters.Length + (long)content.Length > Server.Options.Limits.MaxRequestParametersTotalSize)
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
    public void Prepare()
    {
        State.Run();
        if (Rejection == RequestRejection.None)
            Rejection = CgiRequestMapper.Map(Parameters.Span, Server.Mapping, out _head);
        if (Server.Options.PingPath is { } ping && IsPing(ping))
            Reject(RequestRejection.Ping);

        Parameters.Open(_head.HostOffset);
        BeginInput();
        Response.Begin(
            Connection.Output, Id, Server.Responses, isHead: ReferenceEquals(_head.Method, HttpMethods.Head), isAuthorizer: Role == FastCgiRole.Authorizer);
        _headers.Begin(Parameters, Server.Mapping, in _head);
        BeginFeatures();
    }

    /// <summary>Calls the application, or answers a request that is rejected. It never throws.</summary>
    /// <returns>Whether the application has returned, so that this object is over; if not, it awaits something, and goes on later.</returns>
    public abstract bool Execute();

    /// <summary>Executes the request on a thread that nobody waits for.</summary>
    public void RunLater() => Server.Runner.Run(this);

    private bool IsPing(string path)
        => Rejection == RequestRejection.None && _head.Path == path && Role == FastCgiRole.Responder && (HttpMethods.IsGet(_head.Method) || HttpMethods.IsHead(_head.Method));

    /// <summary>Lets the application choose how headers beyond ASCII are decoded.</summary>
    /// <returns>Whether the request can be given to it.</returns>
    protected bool TryDecodeHeaders()
    {
        if (Server.Mapping.RequestHeaderEncodingSelector is not null)
            Rejection = Parameters.DecodeByApplication(Server.Mapping);
        return Rejection == RequestRejection.None;
    }
}
