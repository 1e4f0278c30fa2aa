using FastCgi.AspNetCore.Requests;
using FastCgi.AspNetCore.Responses;

namespace FastCgi.AspNetCore.Transport.Epoll;

/// <summary>
/// A thread of the epoll engine. It runs a loop, or executes one request that is likely to keep it, or waits to be given either.
/// </summary>
internal sealed class ApplicationThread
{
    private static readonly TimeSpan s_idleTime = TimeSpan.FromSeconds(20);

    [ThreadStatic]
    private static ApplicationThread? t_current;

    private readonly ApplicationThreads _owner;
    private readonly Lock _lock = new();
    private readonly ManualResetEventSlim _hasWork = new();
    private ExecutionContext? _context;
    private EpollLoop? _nextLoop;
    private FastCgiRequest? _nextRequest;

    public ApplicationThread(ApplicationThreads owner)
    {
        _owner = owner;
    }

    /// <summary>The one that is running, if it is one of these.</summary>
    public static ApplicationThread? Current => t_current;

    /// <summary>The loop that it runs, or was running until it was taken.</summary>
    public EpollLoop? Loop { get; private set; }

    /// <summary>The thread's number in the system.</summary>
    public int SystemId { get; private set; }

    /// <summary>What it holds back while it runs a loop.</summary>
    public SendDeferral Deferral { get; } = new();

    /// <summary>Starts the thread with its first work.</summary>
    public void Start(EpollLoop? loop, FastCgiRequest? request)
    {
        _nextLoop = loop;
        _nextRequest = request;
        _hasWork.Set();
        new Thread(Main) { IsBackground = true, Name = "FastCgi application" }.UnsafeStart();
    }

    /// <summary>Gives an idle thread work.</summary>
    public void Assign(EpollLoop? loop, FastCgiRequest? request)
    {
        _nextLoop = loop;
        _nextRequest = request;
        _hasWork.Set();
    }

    /// <summary>What the application set in its execution context ends with its request.</summary>
    public void ResetExecutionContext() => ExecutionContext.Restore(_context!);

    private void Main()
    {
        t_current = this;
        SystemId = Libc.GetThreadId();
        _context = ExecutionContext.Capture();
        do
        {
            _hasWork.Reset();
            DoWork();
        }
        while (WaitForWork());
        _hasWork.Dispose();
    }

    private void DoWork()
    {
        if (_nextLoop is { } loop)
        {
            _nextLoop = null;
            Loop = loop;
            loop.Run(this);
            Loop = null;
        }

        for (var request = _nextRequest; request is not null; request = _owner.TryGetWaiting())
        {
            _nextRequest = null;
            _owner.Execute(request);
            ResetExecutionContext();
        }
    }

    /// <returns>Whether there is work; if not, the thread is at its end.</returns>
    private bool WaitForWork()
    {
        _owner.OnIdle(this);
        while (!_hasWork.Wait(s_idleTime))
        {
            if (_owner.TryRetire(this))
                return false;
        }

        return true;
    }
}
