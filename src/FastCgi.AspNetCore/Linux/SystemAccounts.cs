using System.Globalization;
using System.Runtime.InteropServices;

namespace FastCgi.AspNetCore.Linux;

/// <summary>The users and groups of the system. Not for Windows.</summary>
internal static unsafe partial class SystemAccounts
{
    private const int MaxGroups = 1_024;

    // The system's calls answer in a buffer that all threads share.
    private static readonly Lock s_lock = new();

    /// <summary>The number of a user.</summary>
    /// <param name="name">A name, or the number itself.</param>
    /// <returns><see langword="null"/> if there is no such user.</returns>
    public static uint? FindUser(string name) => Number(name) ?? FindAccount(name)?.User;

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

    /// <summary>A user and all groups whose member it is.</summary>
    /// <returns><see langword="null"/> if there is no such user.</returns>
    public static (uint User, IReadOnlyList<uint> Groups)? FindAccount(string name)
    {
        lock (s_lock)
        {
            var entry = getpwnam(name);
            return entry is null ? null : (entry->Number, GetGroups(name, entry->Group));
        }
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

    private static uint[] GetGroups(string name, uint group)
    {
        var groups = new uint[MaxGroups];
        var count = MaxGroups;
        fixed (uint* first = groups)
            return getgrouplist(name, group, first, &count) < 0 ? [group] : groups[..count];
    }

    [LibraryImport(Libc.Library, StringMarshalling = StringMarshalling.Utf8)]
    private static partial Entry* getpwnam(string name);

    [LibraryImport(Libc.Library, StringMarshalling = StringMarshalling.Utf8)]
    private static partial Entry* getgrnam(string name);

    [LibraryImport(Libc.Library)]
    private static partial Entry* getpwuid(uint number);

    [LibraryImport(Libc.Library)]
    private static partial Entry* getgrgid(uint number);

    [LibraryImport(Libc.Library, StringMarshalling = StringMarshalling.Utf8)]
    private static partial int getgrouplist(string user, uint group, uint* groups, int* count);

    /// <summary>The front of struct passwd and of struct group.</summary>
    [StructLayout(LayoutKind.Sequential)]
    private struct Entry
    {
        public byte* Name;
        public byte* Password;
        public uint Number;

        // Of a user alone.
        public uint Group;
    }
}
