namespace FastCgi.AspNetCore.Hosting.Endpoints;

/// <summary>The sockets that systemd passes (sd_listen_fds(3)).</summary>
internal static class SocketActivation
{
    public const string ProcessVariable = "LISTEN_PID";
    public const string CountVariable = "LISTEN_FDS";
    public const string NamesVariable = "LISTEN_FDNAMES";

    /// <summary>The inode of the process's descriptor, beside its id: since systemd 259.</summary>
    public const string ProcessInodeVariable = "LISTEN_PIDFDID";

    // SD_LISTEN_FDS_START, and the default name.
    private const int FirstDescriptor = 3;
    private const string NoName = "unknown";

    public static IReadOnlyList<(int Descriptor, string Name)> Read(string? process, string? count, string? names)
    {
        if (string.IsNullOrEmpty(process) || string.IsNullOrEmpty(count))
            return [];

        if (!int.TryParse(count, NumberStyles.None, CultureInfo.InvariantCulture, out var number)
            || number > int.MaxValue - FirstDescriptor)
            throw new IOException($"{CountVariable} is '{count}', which is not a number of sockets. Correct the "
                + "parent process, which sets it.");

        var given = string.IsNullOrEmpty(names) ? null : names.Split(':');
        if (given is not null && given.Length != number)
            throw new IOException($"{NamesVariable} is '{names}', which does not contain one name for each socket in "
                + $"{CountVariable} ({number}). Correct the parent process, which sets it.");

        return [.. Enumerable.Range(0, number).Select(i => (FirstDescriptor + i, given?[i] ?? NoName))];
    }

    public static bool IsFor(string? process, int id) => process == id.ToString(CultureInfo.InvariantCulture);
}
