using System.Globalization;
using System.Runtime.InteropServices;

namespace FastCgi.AspNetCore.Linux;

/// <summary>The users and groups of the system. Not for Windows.</summary>
internal static unsafe partial class SystemAccounts
{
    /// <summary>The number of a user.</summary>
    /// <param name="name">A name, or the number itself.</param>
    /// <returns><see langword="null"/> if there is no such user.</returns>
    public static uint? FindUser(string name) => Number(name) ?? Number(getpwnam(name));

    /// <summary>The number of a group.</summary>
    /// <param name="name">A name, or the number itself.</param>
    /// <returns><see langword="null"/> if there is no such group.</returns>
    public static uint? FindGroup(string name) => Number(name) ?? Number(getgrnam(name));

    private static uint? Number(string name)
        => uint.TryParse(name, NumberStyles.None, CultureInfo.InvariantCulture, out var number) ? number : null;

    private static uint? Number(Entry* entry) => entry is null ? null : entry->Number;

    [LibraryImport(Libc.Library, StringMarshalling = StringMarshalling.Utf8)]
    private static partial Entry* getpwnam(string name);

    [LibraryImport(Libc.Library, StringMarshalling = StringMarshalling.Utf8)]
    private static partial Entry* getgrnam(string name);

    /// <summary>The front of struct passwd and of struct group.</summary>
    [StructLayout(LayoutKind.Sequential)]
    private struct Entry
    {
        public byte* Name;
        public byte* Password;
        public uint Number;
    }
}
