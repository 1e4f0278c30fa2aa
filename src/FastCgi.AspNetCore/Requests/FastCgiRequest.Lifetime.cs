using FastCgi.AspNetCore.Diagnostics;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;

namespace FastCgi.AspNetCore.Requests;

/// <content>
/// How a request is aborted: by the web server (ABORT_REQUEST, or the connection is closed), or by the application. Once the end of
/// the response is queued nothing aborts it: a front-end that closes its connection then is no reason to cancel anything. Nor does an
/// abort cancel anything once all bytes of the Content-Length are written.
/// </content>
internal abstract partial class FastCgiRequest : IHttpRequestLifetimeFeature
{
    // Not readonly: a struct that changes. With the lock of the connection held.
    public RequestState State;

    private CancellationTokenSource? _abortedSource;
    private int _generation;
    private bool _isCancellationPrevented;

    // Set by the first of the two: the thread that executes the request, or the one that aborts it.
    private bool _isTaken;

    // The source may be left of a request before, which did not use it up.
    private bool _isTokenTaken;

    CancellationToken IHttpRequestLifetimeFeature.RequestAborted
    {
        get => _lazy?.AbortedToken is { } replaced ? replaced.Value : GetAbortedToken();
        set
        {
            ThrowIfOver();
            Lazy.AbortedToken = new(value);
        }
    }

    /// <inheritdoc/>
    public override int Generation => Volatile.Read(ref _generation);

    /// <summary>Whether the request was aborted before its response was complete.</summary>
    public bool IsAborted => State.Phase == RequestPhase.Aborted;

    /// <inheritdoc/>
    void IHttpRequestLifetimeFeature.Abort()
    {
        // In this order: a thread that comes late, when the object serves another request, is found out by the generation.
        var generation = Generation;
        ThrowIfOver();
        Abort(generation);
    }

    /// <inheritdoc/>
    public override void Abort(int generation)
    {
        var connection = Connection;
        var traceIdentifier = TraceIdentifier;
        var reason = new ConnectionAbortedException("The connection was aborted by the application via HttpContext.Abort().");
        if (connection.TryAbort(this, generation, reason))
            Server.Log.ApplicationAborted(connection.Id, traceIdentifier);
    }

    /// <inheritdoc/>
    public override void OnAnswered()
    {
        if (!IsAborted)
            Volatile.Write(ref _isCancellationPrevented, true);
    }

    /// <summary>
    /// The request was aborted: reads fail, what is written is dropped, and the application is told. With the lock of the connection held,
    /// which has just taken the request out of its table.
    /// </summary>
    public void OnAborted(Exception reason)
    {
        Input.Fail(reason);
        Response.Output.Drop();
        // It waits for a thread, which may take as long as handlers block, and nobody will read what has come.
        if (TryTake())
        {
            Input.Discard();
            Parameters.End();
            // Its path and its query may be as long as all params, at two bytes a character.
            _head = default;
        }

        // Nobody else comes to a request that waited.
        if (Server.Admission.TryLeaveQueue(this) || Server.Runner.TryLeave(this))
            ThreadRoot.Queue(this, static request => request.Execute(), Server.Log);
        if (Volatile.Read(ref _abortedSource) is { } source && !IsAnswered)
            Cancel(source);
    }

    /// <summary>Takes the request and what it has received, to execute it, or to release that because it is aborted.</summary>
    /// <returns>Whether this call did it: only the first one does.</returns>
    protected bool TryTake() => !Interlocked.Exchange(ref _isTaken, true);

    /// <summary>Throws if the application uses the features of a request that is over.</summary>
    private void ThrowIfOver() => ObjectDisposedException.ThrowIf(_isOver, typeof(HttpContext));

    /// <summary>Takes the lock of the request, to change what may be changed until it is over.</summary>
    private ResponseLock.LockScope EnterToChange()
    {
        var scope = Response.Output.EnterLock();
        if (!_isOver)
            return scope;

        scope.Dispose();
        throw new ObjectDisposedException(typeof(HttpContext).FullName);
    }

    private CancellationToken GetAbortedToken()
    {
        if (IsAnswered)
            return CancellationToken.None;

        switch (State.Phase)
        {
            case RequestPhase.Aborted when _abortedSource is null || !_isTokenTaken:
                return new CancellationToken(canceled: true);
            case RequestPhase.Running or RequestPhase.Aborted:
                break;
            default:
                return CancellationToken.None;
        }

        _isTokenTaken = true;
        var source = _abortedSource;
        if (source is null)
        {
            source = new CancellationTokenSource();
            source = Interlocked.CompareExchange(ref _abortedSource, source, null) ?? source;
            // Whoever aborted the request in this instant has not seen the source.
            if (IsAborted)
                Cancel(source);
        }

        return source.Token;
    }

    /// <summary>What is registered with the token is code of the application: it runs on the thread pool, with none of our locks held.</summary>
    private void Cancel(CancellationTokenSource source) => ThreadRoot.Queue(
        (source, log: Server.Log),
        static state =>
        {
            try
            {
                state.source.Cancel();
            }
            catch (Exception exception)
            {
                state.log.CancellationCallbackFailed(exception);
            }
        },
        Server.Log);

    private void ResetLifetime()
    {
        // A source that is being cancelled, or was, is not used again. Not disposed: the application may still have its token.
        if (_abortedSource is { } source && (IsAborted || !source.TryReset()))
            _abortedSource = null;
        _isCancellationPrevented = false;
        _isTokenTaken = false;
        Volatile.Write(ref _isTaken, false);
    }
}
