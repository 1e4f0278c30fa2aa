using FastCgi.AspNetCore.Linux;
using FastCgi.AspNetCore.Requests;

namespace FastCgi.AspNetCore.Transport.Epoll;

/// <summary>
/// A thread of the epoll engine. It runs a loop, or executes one request that is likely to keep it, or waits to be given either.
/// </summary>
internal sealed class ApplicationThread(ApplicationThreads owner)
{
    private static readonly TimeSpan s_idleTime = TimeSpan.FromSeconds(20);

    [ThreadStatic]
    private static ApplicationThread? t_current;

    private readonly ManualResetEventSlim _wake = new();
    private ExecutionContext? _context;
    private EpollLoop? _nextLoop;
    private FastCgiRequest? _nextRequest;

    /// <summary>The one that is running, if it is one of these.</summary>
    public static ApplicationThread? Current => t_current;

    /// <summary>The loop that it runs, or was running until it was taken.</summary>
    public EpollLoop? Loop { get; private set; }

    /// <summary>The thread's number in the system.</summary>
    public int SystemId { get; private set; }

    /// <summary>Starts the thread, which looks for work, and else is idle.</summary>
    /// <exception cref="OutOfMemoryException">The system has no thread left.</exception>
    public void Start() => new Thread(Main) { IsBackground = true, Name = "FastCgi application" }.UnsafeStart();

    /// <summary>Gives the thread work, either a loop or a request. Whoever gives an idle thread work wakes it.</summary>
    public void Assign(EpollLoop? loop, FastCgiRequest? request)
    {
        _nextLoop = loop;
        _nextRequest = request;
    }

    /// <summary>Lets an idle thread look whether there is work, or whether it may end.</summary>
    public void Wake() => _wake.Set();

    /// <summary>What the application set in its execution context ends with its request.</summary>
    public void ResetExecutionContext() => ExecutionContext.Restore(_context!);

    private void Main()
    {
        t_current = this;
        SystemId = ThreadStatus.GetThreadId();
        _context = ExecutionContext.Capture();
        owner.OnStarted();
        while (FindWork())
        {
            RunLoop();
            ExecuteRequest();
        }

        _wake.Dispose();
    }

    /// <returns>Whether there is work; if not, the thread is at its end.</returns>
    private bool FindWork()
    {
        if (owner.TryFindWork(this))
            return true;

        while (true)
        {
            _wake.Wait(s_idleTime);
            _wake.Reset();
            if (_nextLoop is not null || _nextRequest is not null)
                return true;
            if (owner.TryRetire(this))
                return false;
        }
    }

    private void RunLoop()
    {
        if (_nextLoop is not { } loop)
            return;

        _nextLoop = null;
        Loop = loop;
        loop.Run(this);
        Loop = null;
    }

    private void ExecuteRequest()
    {
        if (_nextRequest is not { } request)
            return;

        _nextRequest = null;
        owner.Execute(request);
        ResetExecutionContext();
    }
}
