using FastCgi.AspNetCore.Diagnostics;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;

namespace FastCgi.AspNetCore.Requests;

/// <content>
/// How a request is aborted: by the web server (ABORT_REQUEST, or the connection is closed), or by the application. Once the end of
/// the response is on its way nothing aborts it: a front-end that closes its connection then is no reason to cancel anything. Nor
/// does an abort cancel anything once all bytes of the Content-Length are written.
/// </content>
internal abstract partial class FastCgiRequest : IHttpRequestLifetimeFeature
{
    private const int Running = 0;
    private const int Aborted = 1;
    private const int Over = 2;

    private CancellationTokenSource? _abortedSource;
    private int _lifetime = Over;
    private bool _isCancellationPrevented;

    CancellationToken IHttpRequestLifetimeFeature.RequestAborted
    {
        get => _extras?.AbortedToken ?? GetAbortedToken();
        set
        {
            ThrowIfOver();
            Extras.AbortedToken = value;
        }
    }

    /// <summary>Whether the request was aborted before its response was complete.</summary>
    public bool IsAborted => Volatile.Read(ref _lifetime) == Aborted;

    /// <inheritdoc/>
    public override void Abort()
    {
        ThrowIfOver();
        lock (Connection.Output.Lock)
        {
            if (!Abort(new ConnectionAbortedException("The connection was aborted by the application via HttpContext.Abort().")))
                return;
        }

        Server.Log.ApplicationAborted(Connection.Id, TraceIdentifier);
        Connection.Cut(this);
    }

    /// <inheritdoc/>
    public override void OnResponseAnswered()
    {
        if (!IsAborted)
            Volatile.Write(ref _isCancellationPrevented, true);
    }

    /// <summary>
    /// Aborts the request, unless the end of its response is on its way: reads fail, what is written is dropped, and the application
    /// is told. Under the lock of the connection, whose table still has the request.
    /// </summary>
    /// <returns>Whether this call did it.</returns>
    public bool Abort(Exception reason)
    {
        if (Interlocked.CompareExchange(ref _lifetime, Aborted, Running) != Running)
            return false;

        FailBody(reason);
        Response.Output.Drop();
        if (Volatile.Read(ref _abortedSource) is { } source && !Volatile.Read(ref _isCancellationPrevented))
            Cancel(source);
        return true;
    }

    /// <summary>Throws if the application holds on to the features of a request that is over.</summary>
    private void ThrowIfOver() => ObjectDisposedException.ThrowIf(_isOver, typeof(HttpContext));

    private CancellationToken GetAbortedToken()
    {
        if (Volatile.Read(ref _isCancellationPrevented))
            return CancellationToken.None;

        switch (Volatile.Read(ref _lifetime))
        {
            case Over:
                return CancellationToken.None;
            case Aborted when _abortedSource is null:
                return new CancellationToken(canceled: true);
        }

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

    /// <summary>What is registered with the token is code of the application: it runs on the thread pool, under none of our locks.</summary>
    private void Cancel(CancellationTokenSource source) => ThreadPool.UnsafeQueueUserWorkItem(
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
        (source, log: Server.Log),
        preferLocal: false);

    private void BeginLifetime() => Volatile.Write(ref _lifetime, Running);

    /// <summary>The end of the response is about to be sent.</summary>
    private void EndLifetime() => Interlocked.CompareExchange(ref _lifetime, Over, Running);

    private void ResetLifetime()
    {
        // A source that is being cancelled, or was, is not used again. Not disposed: the application may hold on to its token.
        if (_abortedSource is { } source && (IsAborted || !source.TryReset()))
            _abortedSource = null;
        Volatile.Write(ref _lifetime, Over);
        _isCancellationPrevented = false;
    }
}
