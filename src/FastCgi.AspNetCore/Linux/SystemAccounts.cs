namespace FastCgi.AspNetCore.Linux;

internal static unsafe partial class SystemAccounts
{
    // The system calls return a shared buffer.
    private static readonly Lock s_lock = new();

    /// <summary>The name of the user of this process; its number if it has no name, as in containers.</summary>
    public static string ProcessUser
        => OperatingSystem.IsWindows() ? Environment.UserName : GetUserName(geteuid());

    public static string MembershipAdvice { get; } = GetMembershipAdvice(
        Environment.GetEnvironmentVariable("DOTNET_RUNNING_IN_CONTAINER") == "true" || File.Exists("/.dockerenv")
            || File.Exists("/run/.containerenv") || Directory.Exists("/var/run/secrets/kubernetes.io"));

    public static string GetMembershipAdvice(bool isContainer) => isContainer
        ? "set group_add in the compose file, or fsGroup in the pod's securityContext"
        : "set SupplementaryGroups= in the systemd unit, or run usermod -aG";

    public static uint? FindUser(string name) => Find(name, &getpwnam);

    public static uint? FindGroup(string name) => Find(name, &getgrnam);

    public static string GetUserName(uint number) => GetName(number, &getpwuid);

    public static string GetGroupName(uint number) => GetName(number, &getgrgid);

    private static uint? Find(string name, delegate*<string, Entry*> getEntry)
    {
        if (uint.TryParse(name, NumberStyles.None, CultureInfo.InvariantCulture, out var number))
            return number;

        using (s_lock.Acquire())
            return getEntry(name) is var entry && entry is null ? null : entry->Number;
    }

    private static string GetName(uint number, delegate*<uint, Entry*> getEntry)
    {
        using (s_lock.Acquire())
        {
            var entry = getEntry(number);
            var name = entry is null ? null : Marshal.PtrToStringUTF8((nint)entry->Name);
            return name ?? number.ToString(CultureInfo.InvariantCulture);
        }
    }

    [LibraryImport(Libc.Library, StringMarshalling = StringMarshalling.Utf8)]
    private static partial Entry* getpwnam(string name);

    [LibraryImport(Libc.Library, StringMarshalling = StringMarshalling.Utf8)]
    private static partial Entry* getgrnam(string name);

    [LibraryImport(Libc.Library)]
    private static partial uint geteuid();

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
