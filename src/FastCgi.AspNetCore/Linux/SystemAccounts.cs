using System.Globalization;
using System.Runtime.InteropServices;

namespace FastCgi.AspNetCore.Linux;

/// <summary>The users and groups of the system. Not for Windows.</summary>
internal static unsafe partial class SystemAccounts
{
    // The system's calls answer in a buffer that all threads share.
    private static readonly Lock s_lock = new();

    /// <summary>The number of a user.</summary>
    /// <param name="name">A name, or the number itself.</param>
    /// <returns><see langword="null"/> if there is no such user.</returns>
    public static uint? FindUser(string name)
    {
        if (Number(name) is { } number)
            return number;

        lock (s_lock)
            return getpwnam(name) is var entry && entry is null ? null : entry->Number;
    }

    /// <summary>The number of a group.</summary>
    /// <param name="name">A name, or the number itself.</param>
    /// <returns><see langword="null"/> if there is no such group.</returns>
    public static uint? FindGroup(string name)
    {
        if (Number(name) is { } number)
            return number;

        lock (s_lock)
            return getgrnam(name) is var entry && entry is null ? null : entry->Number;
    }

    /// <summary>The name of a user, or its number where it has none.</summary>
    public static string GetUserName(uint number)
    {
        lock (s_lock)
            return Name(getpwuid(number), number);
    }

    /// <summary>The name of a group, or its number where it has none.</summary>
    public static string GetGroupName(uint number)
    {
        lock (s_lock)
            return Name(getgrgid(number), number);
    }

    private static uint? Number(string name)
        => uint.TryParse(name, NumberStyles.None, CultureInfo.InvariantCulture, out var number) ? number : null;

    private static string Name(Entry* entry, uint number)
        => (entry is null ? null : Marshal.PtrToStringUTF8((nint)entry->Name)) ?? number.ToString(CultureInfo.InvariantCulture);

    [LibraryImport(Libc.Library, StringMarshalling = StringMarshalling.Utf8)]
    private static partial Entry* getpwnam(string name);

    [LibraryImport(Libc.Library, StringMarshalling = StringMarshalling.Utf8)]
    private static partial Entry* getgrnam(string name);

    [LibraryImport(Libc.Library)]
    private static partial Entry* getpwuid(uint number);

    [LibraryImport(Libc.Library)]
    private static partial Entry* getgrgid(uint number);

    /// <summary>The front of struct passwd and of struct group.</summary>
    [StructLayout(LayoutKind.Sequential)]
    private struct Entry
    {
        public byte* Name;
        public byte* Password;
        public uint Number;
    }
}
