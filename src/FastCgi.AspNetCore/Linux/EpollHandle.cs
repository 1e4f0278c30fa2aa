namespace FastCgi.AspNetCore.Linux;

/// <summary>An epoll instance. Thread-safe, even after disposal; calls have no effect then.</summary>
internal sealed unsafe partial class EpollHandle : SafeHandleMinusOneIsInvalid
{
    private const int ControlAdd = 1;
    private const int ControlDelete = 2;
    private const int ControlModify = 3;

    public EpollHandle()
        : base(ownsHandle: true)
    {
        SetHandle(epoll_create1(Libc.CloseOnExec));
        if (IsInvalid)
            throw Libc.GetException("epoll_create1");
    }

    /// <summary>Adds a descriptor; if a previous removal failed, updates it.</summary>
    public bool Add(int descriptor, uint events, ulong data)
        => Control(ControlAdd, descriptor, events, data)
            || (Libc.LastError == Libc.ErrorExists && Modify(descriptor, events, data));

    /// <summary>Changes the events, and reports pending ones again.</summary>
    public bool Modify(int descriptor, uint events, ulong data) => Control(ControlModify, descriptor, events, data);

    /// <summary>Removes a descriptor. Closing its last duplicate removes it too.</summary>
    public bool Delete(int descriptor) => Control(ControlDelete, descriptor, events: 0, data: 0);

    /// <summary>Waits for events. Only the thread that disposes the handle may call it: it adds no reference.</summary>
    /// <returns>The number of events; 0 after the timeout or a signal; -1 on an error.</returns>
    public int Wait(EpollEvent* events, int maxEvents, int timeoutMilliseconds)
    {
        var count = epoll_wait((int)handle, events, maxEvents, timeoutMilliseconds);
        return count < 0 && Libc.LastError == Libc.ErrorInterrupted ? 0 : count;
    }

    protected override bool ReleaseHandle()
    {
        Libc.Close((int)handle);
        return true;
    }

    private bool Control(int operation, int descriptor, uint events, ulong data)
    {
        var epollEvent = new EpollEvent { Events = events, Data = data };
        try
        {
            return epoll_ctl(this, operation, descriptor, &epollEvent) == 0;
        }
        catch (ObjectDisposedException)
        {
            return false;
        }
    }

    [LibraryImport(Libc.Library, SetLastError = true)]
    private static partial int epoll_create1(int flags);

    [LibraryImport(Libc.Library, SetLastError = true)]
    private static partial int epoll_ctl(EpollHandle epoll, int operation, int descriptor, EpollEvent* epollEvent);

    [LibraryImport(Libc.Library, SetLastError = true)]
    private static partial int epoll_wait(int epoll, EpollEvent* events, int maxEvents, int timeout);
}
