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
    // Of a request that was aborted, and of one whose answer is written, so that nothing is cancelled any more: whichever comes first.
    private static readonly CancellationTokenSource s_canceled = CreateCanceled();
    private static readonly CancellationTokenSource s_answered = new();

    private int _phase;
    private CancellationTokenSource? _abortedSource;

    CancellationToken IHttpRequestLifetimeFeature.RequestAborted
    {
        get => _lazy?.AbortedToken is { } replaced ? replaced.Value : GetAbortedToken();
        set => Lazy.AbortedToken = new(value);
    }

    /// <summary>How far the request has come.</summary>
    public RequestPhase Phase => (RequestPhase)Volatile.Read(ref _phase);

    /// <summary>Whether all params have come.</summary>
    public bool HasAllParameters => Phase != RequestPhase.Receiving;

    /// <summary>Whether the request has left its connection: nothing more of its response is taken.</summary>
    public bool HasLeft => Phase >= RequestPhase.Ended;

    /// <summary>Whether the request was aborted before its response was complete.</summary>
    public bool IsAborted => Phase is RequestPhase.Dropped or RequestPhase.Aborted;

    /// <summary>Whether nothing can be read or written any more.</summary>
    public bool IsOver => Phase == RequestPhase.Over;

    /// <summary>Whether the application has written all that the client waits for.</summary>
    public bool IsAnswered => Volatile.Read(ref _abortedSource) == s_answered;

    /// <summary>Whether the end of what the web server sends of the request has come.</summary>
    public bool IsInputOver => Input is { IsOver: true };

    /// <summary>The bytes of the body that the application has not examined, while there are more to come.</summary>
    public long UnreadBodyLength => Input is { } input ? input.UnreadLength : 0;

    /// <summary>Whether the application has waited for the body, and it must come at some rate.</summary>
    public bool IsBodyTimed => Input is { IsTimed: true };

    /// <inheritdoc/>
    public void Abort()
    {
        var reason = new ConnectionAbortedException("The connection was aborted by the application via HttpContext.Abort().");
        if (Connection.TryAbort(this, reason))
            Log.ApplicationAborted(Connection.Id, TraceIdentifier);
    }

    /// <summary>All that the client waits for is written: an abort cancels nothing any more.</summary>
    public void OnAnswered()
    {
        CancellationTokenSource? source;
        do
        {
            source = Volatile.Read(ref _abortedSource);
            if (source == s_canceled || source == s_answered)
                return;
        }
        while (Interlocked.CompareExchange(ref _abortedSource, s_answered, source) != source);
    }

    /// <summary>Takes the request to execute it.</summary>
    /// <returns>Whether this call did it: only one does, and none if the request is aborted before.</returns>
    public bool TryClaim() => TryMove(RequestPhase.Waiting, RequestPhase.Running);

    /// <summary>Completes a request that was aborted before a thread had taken it, unless another thread has done so.</summary>
    public void CompleteIfDropped()
    {
        if (TryMove(RequestPhase.Dropped, RequestPhase.Aborted))
            RequestCompletion.Complete(this, exception: null);
    }

    /// <summary>The request leaves its connection.</summary>
    /// <param name="how">How.</param>
    /// <returns>Whether this call did it; if not, it has left before.</returns>
    public bool TryLeave(ConnectionScope connection, RequestPhase how)
    {
        RequestPhase before;
        do
        {
            before = Phase;
            if (before >= RequestPhase.Ended)
                return false;
        }
        while (!TryMove(before, before == RequestPhase.Waiting && how == RequestPhase.Aborted ? RequestPhase.Dropped : how));

        return true;
    }

    /// <summary>The request was aborted: reads fail, what is written is dropped, and the application is told.</summary>
    /// <param name="reason">What reads fail with.</param>
    public void OnAborted(ConnectionScope connection, Exception reason)
    {
        Input.Fail(connection, reason);
        Response.Output.Drop(connection);
        if (Phase == RequestPhase.Dropped)
        {
            // Whoever has it in a queue may come to it when handlers that block return: until then it would keep what the client has sent, and its place.
            Input.Close(connection);
            Parameters = new RequestParameters(Server.Mapping);
            _head = default;
            Server.Admission.LeaveQueue(this);
            Server.Runner.Leave(this);
            ThreadRoot.Queue(this, static request => request.CompleteIfDropped(), Log);
        }

        CancelToken();
    }

    /// <summary>The application has returned, or was not called: from now on nothing can be read or written.</summary>
    public void Close()
    {
        using var scope = EnterLock();
        Volatile.Write(ref _phase, (int)RequestPhase.Over);
        Response.Close(scope);
        if (!Input.IsUsed)
            return;

        using var connection = Connection.EnterLock();
        Input.Close(connection);
    }

    private static CancellationTokenSource CreateCanceled()
    {
        var source = new CancellationTokenSource();
        source.Cancel();
        return source;
    }

    private bool TryMove(RequestPhase from, RequestPhase to) => Interlocked.CompareExchange(ref _phase, (int)to, (int)from) == (int)from;

    private void BecomeReady(ConnectionScope connection) => Volatile.Write(ref _phase, (int)RequestPhase.Waiting);

    private CancellationToken GetAbortedToken()
    {
        var source = Volatile.Read(ref _abortedSource);
        if (source is null && (!HasLeft || IsAborted))
            source = Keep(ref _abortedSource, new CancellationTokenSource());
        return source is null || source == s_answered ? CancellationToken.None : source.Token;
    }

    private void CancelToken()
    {
        CancellationTokenSource? source;
        do
        {
            source = Volatile.Read(ref _abortedSource);
            if (source == s_answered)
                return;
        }
        while (Interlocked.CompareExchange(ref _abortedSource, s_canceled, source) != source);

        if (source is not null)
            Cancel(source);
    }

    /// <summary>What is registered with the token is code of the application: it runs on the thread pool, with none of our locks held.</summary>
    private void Cancel(CancellationTokenSource source) => ThreadRoot.Queue(
        (source, log: Log),
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
        Log);
}
