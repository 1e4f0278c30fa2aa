using System.Runtime.InteropServices;

namespace FastCgi.AspNetCore.Linux;

/// <summary>A counter that wakes whoever waits for its descriptor (eventfd). Any thread may signal it, even after its end.</summary>
internal sealed unsafe partial class EventHandle : SafeHandle
{
    private const int CloseOnExec = 0x80000;
    private const int NonBlocking = 0x800;

    public EventHandle()
        : base(invalidHandleValue: -1, ownsHandle: true)
    {
        SetHandle(eventfd(0, CloseOnExec | NonBlocking));
        if (IsInvalid)
            throw Libc.GetException("eventfd");
    }

    /// <inheritdoc/>
    public override bool IsInvalid => handle == -1;

    /// <summary>The number to wait for.</summary>
    public int Descriptor => (int)handle;

    /// <summary>Wakes whoever waits.</summary>
    public void Signal()
    {
        try
        {
            _ = eventfd_write(this, 1);
        }
        catch (ObjectDisposedException)
        {
            // Nobody waits any more.
        }
    }

    /// <summary>Takes the signals that came. Only for the thread that also disposes the handle, so that it needs no reference of its own.</summary>
    public void Reset()
    {
        ulong value;
        _ = eventfd_read((int)handle, &value);
    }

    /// <inheritdoc/>
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
    private static partial int eventfd_read(int descriptor, ulong* value);
}
