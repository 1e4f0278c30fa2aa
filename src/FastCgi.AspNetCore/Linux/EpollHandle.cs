using System.Runtime.InteropServices;

namespace FastCgi.AspNetCore.Linux;

/// <summary>An epoll instance. Any thread may change what it waits for, even after its end: that does nothing then.</summary>
internal sealed unsafe partial class EpollHandle : SafeHandle
{
    private const int CloseOnExec = 0x80000;
    private const int ControlAdd = 1;
    private const int ControlDelete = 2;
    private const int ControlModify = 3;

    public EpollHandle()
        : base(invalidHandleValue: -1, ownsHandle: true)
    {
        SetHandle(epoll_create1(CloseOnExec));
        if (IsInvalid)
            throw Libc.GetException("epoll_create1");
    }

    /// <inheritdoc/>
    public override bool IsInvalid => handle == -1;

    /// <summary>Waits for a descriptor from now on. One that could not be deleted before is still there, and gets the new data.</summary>
    /// <returns>Whether the system can; if not, <see cref="Libc.LastError"/> says why.</returns>
    public bool Add(int descriptor, uint events, ulong data)
        => Control(ControlAdd, descriptor, events, data) || (Libc.LastError == Libc.ErrorExists && Modify(descriptor, events, data));

    /// <summary>Changes what is waited for, and looks anew whether it is so already.</summary>
    /// <returns>Whether the system can; if not, <see cref="Libc.LastError"/> says why.</returns>
    public bool Modify(int descriptor, uint events, ulong data) => Control(ControlModify, descriptor, events, data);

    /// <summary>Waits for a descriptor no longer. The close of its last duplicate does so too.</summary>
    public bool Delete(int descriptor) => Control(ControlDelete, descriptor, events: 0, data: 0);

    /// <summary>Waits for events. Only for the thread that also disposes the handle, so that it needs no reference of its own.</summary>
    /// <returns>How many there are; 0 after the time-out and after a signal; -1 if the system refuses, and <see cref="Libc.LastError"/> says why.</returns>
    public int Wait(EpollEvent* events, int maxEvents, int timeoutMilliseconds)
    {
        var count = epoll_wait((int)handle, events, maxEvents, timeoutMilliseconds);
        return count < 0 && Libc.LastError == Libc.ErrorInterrupted ? 0 : count;
    }

    /// <inheritdoc/>
    protected override bool ReleaseHandle()
    {
        Libc.Close((int)handle);
        return true;
    }

    private bool Control(int operation, int descriptor, uint events, ulong data)
    {
        EpollEvent epollEvent = default;
        epollEvent.Events = events;
        epollEvent.Data = data;
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
