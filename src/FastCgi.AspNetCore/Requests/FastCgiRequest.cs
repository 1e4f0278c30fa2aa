using FastCgi.AspNetCore.Cgi;
using FastCgi.AspNetCore.Responses;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;

namespace FastCgi.AspNetCore.Requests;

/// <summary>
/// One request: the params while they come, then the feature collection that the application works with. The object serves one
/// request after another. Its parts: <c>.Features</c> is the collection, <c>.Request</c> what came, <c>.Body</c> the request body,
/// <c>.Lifetime</c> how it is aborted; <see cref="FastCgiRequest{TContext}"/> runs the application.
/// </summary>
internal abstract partial class FastCgiRequest : ResponseOwner, IFeatureCollection, IThreadPoolWorkItem
{
    private readonly RequestHeaders _headers = new();
    private RequestHead _head;
    private Action<FastCgiRequest>? _execute;
    private bool _isHead;

    protected FastCgiRequest(ServerContext server)
    {
        Server = server;
        Response = new FastCgiResponse(this);
        Parameters = new RequestParameters();
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

    /// <summary>Whether the request counts against the limit of concurrent requests. Of <see cref="RequestAdmission"/>.</summary>
    public bool IsAdmitted { get; set; }

    /// <summary>Whether the response is complete and waits to be sent. Of the connection.</summary>
    public bool IsEnding { get; set; }

    /// <summary>Whether all params have come. Of the connection, under its lock.</summary>
    public bool HasAllParameters { get; private set; }

    /// <summary>When BEGIN_REQUEST came, by the clock of the server.</summary>
    public long BeganAt { get; set; }

    /// <summary>A number that is the same for requests of the same path.</summary>
    public int PathHash => _head.Path?.GetHashCode(StringComparison.Ordinal) ?? 0;

    /// <inheritdoc/>
    public override bool IsHeadRequest => _isHead;

    /// <inheritdoc/>
    public override IHeaderDictionary RequestHeaders => _headers;

    /// <inheritdoc/>
    public override SendFileOffload? SendFileOffload => Server.SendFileOffload;

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
        HasAllParameters = false;
        Parameters.Begin();
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
        HasAllParameters = true;
        if (Rejection == RequestRejection.None)
            Map();

        BeginRole();
        _isHead = ReferenceEquals(_head.Method, Microsoft.AspNetCore.Http.HttpMethods.Head);
        var options = Server.Options;
        Response.AllowSynchronousIO = options.AllowSynchronousIO;
        Response.Begin(Connection.Output, Id, options.Limits.MaxResponseBufferSize, options.ResponseHeaderEncodingSelector);
        _headers.Begin(Parameters, Server.Mapping, _head.ContentLength);
        BeginFeatures();
        BeginRequestLine();
        BeginBody();
        BeginLifetime();
    }

    /// <summary>Runs the application, or answers a request that is rejected. It never throws.</summary>
    /// <returns>Whether the application has returned; if not, it awaits something, and goes on later.</returns>
    public abstract bool Execute();

    /// <summary>Has the request executed on the thread pool.</summary>
    /// <param name="execute">Executes it there, for whoever wants to know what becomes of it.</param>
    public void QueueToThreadPool(Action<FastCgiRequest>? execute = null)
    {
        _execute = execute;
        ThreadPool.UnsafeQueueUserWorkItem(this, preferLocal: false);
    }

    void IThreadPoolWorkItem.Execute()
    {
        if (_execute is { } execute)
            execute(this);
        else
            Execute();
    }

    private void Map()
    {
        try
        {
            Rejection = CgiRequestMapper.Map(Parameters.Span, Server.Mapping, out _head);
        }
        catch (Exception exception)
        {
            // The application chooses encodings of headers; its error is reported when it would have run, outside of all locks.
            _head = default;
            Extras.MappingError = exception;
        }
    }

    /// <inheritdoc/>
    public override bool OnResponseEnding()
    {
        EndLifetime();
        return Connection.OnRequestEnding(this);
    }

    /// <inheritdoc/>
    public override void OnResponseEnded() => Connection.OnRequestEnded(this);

    /// <summary>The request is over: lets go of all that was its own and gives the object back.</summary>
    protected void Release()
    {
        Connection.OnRequestReleased(this);
        Response.Close();
        Parameters.End();
        EndBody();
        EndFeatures();
        EndRole();
        EndRequestLine();
        ResetLifetime();
        _applicationError = null;
        _badRequest = null;
        Server.Admission.Release(this);
        Server.Requests.Return(this);
    }

    /// <summary>A request that never came to be executed is over.</summary>
    public void Forget()
    {
        Parameters.End();
        Server.Requests.Return(this);
    }
}
