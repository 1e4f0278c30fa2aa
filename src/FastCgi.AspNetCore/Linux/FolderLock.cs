using System.Runtime.InteropServices;
using System.Runtime.Versioning;
using Microsoft.Win32.SafeHandles;

namespace FastCgi.AspNetCore.Linux;

/// <summary>
/// A lock (flock) of the folder of a unix socket: no other instance makes or removes a socket there. Anybody who can read the folder can
/// take the same lock, and keep it.
/// </summary>
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

    /// <summary>The folder.</summary>
    public string Folder { get; }

    /// <summary>Takes the lock.</summary>
    /// <returns>Whether no other process has it. Where the system does not lock the folder, that is nobody.</returns>
    public bool TryAcquire()
    {
        while (!_handle.IsInvalid && flock(_handle, Exclusive | NonBlocking) != 0)
        {
            if (Libc.LastError == Libc.ErrorInterrupted)
                continue;

            return Libc.LastError != Libc.ErrorAgain;
        }

        return true;
    }

    /// <inheritdoc/>
    public void Dispose() => _handle.Dispose();

    [LibraryImport(Libc.Library, SetLastError = true)]
    private static partial int flock(SafeFileHandle descriptor, int operation);
}
