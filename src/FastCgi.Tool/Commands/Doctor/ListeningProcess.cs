namespace FastCgi.Tool.Commands.Doctor;

/// <summary>The process that listens at an address of this machine, according to <c>ss</c> and <c>/proc</c>.</summary>
internal sealed record ListeningProcess(int Waiting, int Backlog, int? ProcessId, string? Name)
{
    private static readonly Regex s_listener =
        new("""LISTEN\s+(?<waiting>\d+)\s+(?<backlog>\d+)\s+(?<local>\S+)(.*?\("(?<name>[^"]*)",pid=(?<id>\d+))?""");
    private static readonly Regex s_descriptorLimit = new(@"^Max open files\s+(?<soft>\d+)", RegexOptions.Multiline);

    /// <returns><see langword="null"/> if there is none on this machine, or it is not visible.</returns>
    public static ListeningProcess? Find(FastCgiAddress address)
    {
        var match = SystemCommand.Read("ss", address.IsUnix ? "-Hxlnp" : "-Htlnp").Split('\n')
            .Select(static line => s_listener.Match(line))
            .FirstOrDefault(match => match.Success && IsAt(match.Groups["local"].Value, address.EndPoint));
        if (match is null)
            return null;

        return new ListeningProcess(Parse(match, "waiting"), Parse(match, "backlog"),
            match.Groups["id"].Success ? Parse(match, "id") : null, match.Groups["name"].Value);
    }

    /// <summary>The number of descriptors that the process has open, and its limit.</summary>
    public static (int Open, int Limit)? ReadDescriptors(int? processId)
    {
        var limit = s_descriptorLimit.Match(TryRead(() => File.ReadAllText($"/proc/{processId}/limits")) ?? "");
        var open = TryRead(() => Directory.GetFileSystemEntries($"/proc/{processId}/fd"));
        return open is null || !limit.Success ? null : (open.Length, Parse(limit, "soft"));
    }

    /// <returns><see langword="null"/> if it is not visible.</returns>
    private static T? TryRead<T>(Func<T?> read)
        where T : class
    {
        try
        {
            return read();
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return null;
        }
    }

    private static bool IsAt(string local, EndPoint endPoint)
    {
        // FastCgi.AspNetCore renames its socket file once it listens; the system keeps the first name.
        if (endPoint is UnixDomainSocketEndPoint)
            return local == endPoint.ToString() || local == endPoint + "~";

        if (!IPEndPoint.TryParse(local.Replace("*", "[::]"), out var bound))
            return false;
        var isAny = bound.Address.Equals(IPAddress.Any) || bound.Address.Equals(IPAddress.IPv6Any);
        return endPoint switch
        {
            IPEndPoint ip => bound.Equals(ip) || (bound.Port == ip.Port && isAny && IsOfThisMachine(ip.Address)),
            DnsEndPoint { Host: "localhost" } dns
                => bound.Port == dns.Port && (isAny || IPAddress.IsLoopback(bound.Address)),
            _ => false,
        };
    }

    private static bool IsOfThisMachine(IPAddress address)
        => IPAddress.IsLoopback(address) || System.Net.NetworkInformation.NetworkInterface.GetAllNetworkInterfaces()
            .Any(card => card.GetIPProperties().UnicastAddresses.Any(own => own.Address.Equals(address)));

    private static int Parse(Match match, string group)
        => int.Parse(match.Groups[group].Value, CultureInfo.InvariantCulture);
}
