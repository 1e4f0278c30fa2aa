using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Text.RegularExpressions;
using FastCgi.Client;

namespace FastCgi.Tool.Commands.Doctor;

/// <summary>Who listens at an address of this machine, as <c>ss</c> and <c>/proc</c> show it.</summary>
internal sealed partial record ListeningProcess(int Waiting, int Backlog, int? ProcessId, string? Name)
{
    /// <returns><see langword="null"/> if nobody does here, or it cannot be seen.</returns>
    public static ListeningProcess? Find(FastCgiAddress address)
    {
        var isUnix = address.EndPoint is UnixDomainSocketEndPoint;
        foreach (var line in (SocketFile.Run("ss", isUnix ? "-Hxlnp" : "-Htlnp") ?? "").Split('\n'))
        {
            if (Listener().Match(line) is not { Success: true } match || !IsAt(match.Groups["local"].Value, address.EndPoint))
                continue;

            var process = Process().Match(line);
            return new ListeningProcess(
                Parse(match.Groups["waiting"]), Parse(match.Groups["backlog"]), process.Success ? Parse(process.Groups["id"]) : null, process.Success
                    ? process.Groups["name"].Value : null);
        }

        return null;
    }

    /// <summary>How many descriptors the process has open, and may have.</summary>
    public (int Open, int Limit)? ReadDescriptors()
    {
        try
        {
            var limit = File.ReadLines($"/proc/{ProcessId}/limits").Select(static line => DescriptorLimit().Match(line))
                .FirstOrDefault(static match => match.Success);
            return limit is null ? null : (Directory.EnumerateFileSystemEntries($"/proc/{ProcessId}/fd").Count(), Parse(limit.Groups["soft"]));
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return null;
        }
    }

    /// <summary>Why a .NET process has no folder for the keys of Data Protection, as far as that is seen.</summary>
    public string? FindMissingHome()
    {
        try
        {
            if (!File.ReadLines($"/proc/{ProcessId}/maps").Any(static line => line.Contains("libcoreclr.so", StringComparison.Ordinal)))
                return null;

            var home = ReadHome();
            if (string.IsNullOrEmpty(home))
                return "the process has no HOME";
            return Directory.Exists(home) ? null : $"its HOME, {home}, does not exist";
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return null;
        }
    }

    /// <summary>What the folder of the keys goes by, unless the application names one: home and folder of the process.</summary>
    public string? FindKeyFolder()
    {
        try
        {
            return ReadHome() is { Length: > 0 } home ? $"{home} {new DirectoryInfo($"/proc/{ProcessId}/cwd").LinkTarget}" : null;
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return null;
        }
    }

    public static int? ReadLongestBacklog()
    {
        const string File = "/proc/sys/net/core/somaxconn";
        return System.IO.File.Exists(File) && int.TryParse(System.IO.File.ReadAllText(File), CultureInfo.InvariantCulture, out var value) ? value : null;
    }

    private string? ReadHome()
        => File.ReadAllText($"/proc/{ProcessId}/environ").Split('\0')
            .FirstOrDefault(static pair => pair.StartsWith("HOME=", StringComparison.Ordinal))?["HOME=".Length..];

    private static bool IsAt(string local, EndPoint endPoint)
    {
        // FastCgi.AspNetCore renames its socket file once it listens; the system keeps the name before.
        if (endPoint is UnixDomainSocketEndPoint)
            return local == endPoint.ToString() || local == endPoint + "~";

        var colon = local.LastIndexOf(':');
        var port = endPoint is DnsEndPoint dns ? dns.Port : ((IPEndPoint)endPoint).Port;
        if (local[(colon + 1)..] != port.ToString(CultureInfo.InvariantCulture))
            return false;

        var host = local[..colon].Trim('[', ']');
        return endPoint switch
        {
            IPEndPoint ip => host == ip.Address.ToString() || (host is "*" or "0.0.0.0" or "::" && IsOfThisMachine(ip.Address)),
            DnsEndPoint { Host: "localhost" } => host is "*" or "0.0.0.0" or "::" or "127.0.0.1" or "::1",
            _ => false,
        };
    }

    private static bool IsOfThisMachine(IPAddress address)
        => IPAddress.IsLoopback(address) || System.Net.NetworkInformation.NetworkInterface.GetAllNetworkInterfaces()
            .Any(card => card.GetIPProperties().UnicastAddresses.Any(own => own.Address.Equals(address)));

    private static int Parse(Group group) => int.Parse(group.Value, CultureInfo.InvariantCulture);

    [GeneratedRegex(@"LISTEN\s+(?<waiting>\d+)\s+(?<backlog>\d+)\s+(?<local>\S+)")]
    private static partial Regex Listener();

    [GeneratedRegex("""\("(?<name>[^"]*)",pid=(?<id>\d+)""")]
    private static partial Regex Process();

    [GeneratedRegex(@"^Max open files\s+(?<soft>\d+)")]
    private static partial Regex DescriptorLimit();
}
