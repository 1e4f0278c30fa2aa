namespace FastCgi.AspNetCore.Linux;

/// <summary>An flock on the folder of a Unix socket, which excludes other instances. Any reader can lock it.</summary>
[SupportedOSPlatform("linux")]
internal sealed partial class FolderLock : IDisposable
{
    private const int Exclusive = 2;
    private const int NonBlocking = 4;

    private readonly SafeFileHandle _handle;

    public FolderLock(string socketPath)
    {
        Folder = Path.GetDirectoryName(Path.GetFullPath(socketPath)) ?? "/";
        _handle = Libc.Open(Folder);
    }

    public string Folder { get; }

    /// <returns>Whether no other process holds the lock, or the system cannot lock the folder.</returns>
    public bool TryAcquire()
    {
        while (!_handle.IsInvalid && flock(_handle, Exclusive | NonBlocking) != 0)
        {
            if (Libc.LastError != Libc.ErrorInterrupted)
                return Libc.LastError != Libc.ErrorAgain;
        }

        return true;
    }

    public void Dispose() => _handle.Dispose();

    [LibraryImport(Libc.Library, SetLastError = true)]
    private static partial int flock(SafeFileHandle descriptor, int operation);
}
