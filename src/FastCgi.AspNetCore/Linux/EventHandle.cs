namespace FastCgi.AspNetCore.Linux;

/// <summary>An eventfd, which wakes a waiting loop. Thread-safe, even after disposal.</summary>
internal sealed partial class EventHandle : SafeHandleMinusOneIsInvalid
{
    public EventHandle()
        : base(ownsHandle: true)
    {
        SetHandle(eventfd(0, Libc.CloseOnExec | Libc.NonBlocking));
        if (IsInvalid)
            throw Libc.GetException("eventfd");
    }

    public int Descriptor => (int)handle;

    public void Signal()
    {
        try
        {
            _ = eventfd_write(this, 1);
        }
        catch (ObjectDisposedException)
        {
            // The loop has ended.
        }
    }

    /// <summary>Resets the event. Only the thread that disposes the handle may call it: it adds no reference.</summary>
    public void Reset() => _ = eventfd_read((int)handle, out _);

    protected override bool ReleaseHandle()
    {
        Libc.Close((int)handle);
        return true;
    }

    [LibraryImport(Libc.Library, SetLastError = true)]
    private static partial int eventfd(uint value, int flags);

    [LibraryImport(Libc.Library)]
    private static partial int eventfd_write(EventHandle descriptor, ulong value);

    [LibraryImport(Libc.Library)]
    private static partial int eventfd_read(int descriptor, out ulong value);
}
