namespace FastCgi.AspNetCore.Linux;

/// <summary>Users and groups of the system. Not for Windows.</summary>
internal static unsafe partial class SystemAccounts
{
    // The system calls return a shared buffer.
    private static readonly Lock s_lock = new();

    public static uint? FindUser(string name)
    {
        if (Number(name) is { } number)
            return number;

        lock (s_lock)
            return getpwnam(name) is var entry && entry is null ? null : entry->Number;
    }

    public static uint? FindGroup(string name)
    {
        if (Number(name) is { } number)
            return number;

        lock (s_lock)
            return getgrnam(name) is var entry && entry is null ? null : entry->Number;
    }

    public static string GetUserName(uint number)
    {
        lock (s_lock)
            return Name(getpwuid(number), number);
    }

    public static string GetGroupName(uint number)
    {
        lock (s_lock)
            return Name(getgrgid(number), number);
    }

    private static uint? Number(string name)
        => uint.TryParse(name, NumberStyles.None, CultureInfo.InvariantCulture, out var number) ? number : null;

    private static string Name(Entry* entry, uint number)
        => (entry is null ? null : Marshal.PtrToStringUTF8((nint)entry->Name)) ?? number.ToString(
            CultureInfo.InvariantCulture);

    [LibraryImport(Libc.Library, StringMarshalling = StringMarshalling.Utf8)]
    private static partial Entry* getpwnam(string name);

    [LibraryImport(Libc.Library, StringMarshalling = StringMarshalling.Utf8)]
    private static partial Entry* getgrnam(string name);

    [LibraryImport(Libc.Library)]
    private static partial Entry* getpwuid(uint number);

    [LibraryImport(Libc.Library)]
    private static partial Entry* getgrgid(uint number);

    /// <summary>The first members of struct passwd and struct group.</summary>
    [StructLayout(LayoutKind.Sequential)]
    private struct Entry
    {
        public byte* Name;
        public byte* Password;
        public uint Number;
    }
}
