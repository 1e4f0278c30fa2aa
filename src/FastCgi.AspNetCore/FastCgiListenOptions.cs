using System.Net;

namespace FastCgi.AspNetCore;

/// <summary>One endpoint that the FastCGI server listens on.</summary>
public sealed class FastCgiListenOptions
{
    internal FastCgiListenOptions(EndPoint endPoint)
    {
        EndPoint = endPoint;
    }

    /// <summary>
    /// What is listened on: an address and port, a unix socket, a socket that the process was given, or an endpoint of a transport that
    /// is registered as a service.
    /// </summary>
    public EndPoint EndPoint { get; private set; }

    /// <summary>The connections that the system holds until they are accepted.</summary>
    /// <remarks>
    /// 4,096 by default; the system cuts it to <c>net.core.somaxconn</c>, and the log warns of that. At least 1. A socket that the
    /// process was given keeps the number that it came with.
    /// </remarks>
    /// <exception cref="ArgumentOutOfRangeException">The value is not positive.</exception>
    public int Backlog
    {
        get;
        set
        {
            ArgumentOutOfRangeException.ThrowIfLessThan(value, 1);
            field = value;
        }
    } = 4_096;

    /// <summary>The permissions of the file of a unix socket; a web server must be able to write to it in order to connect.</summary>
    /// <remarks>
    /// By default 0660 where <see cref="Owner"/> or <see cref="Group"/> is set, else what the umask of the process leaves of 0777.
    /// In configuration it is an octal number, such as <c>"0660"</c>. Nobody can connect before owner, group and mode are set.
    /// </remarks>
    public UnixFileMode? Mode { get; set; }

    /// <summary>The user who owns the file of a unix socket, by name or number.</summary>
    /// <remarks>The user of the process by default. Only root can choose another.</remarks>
    public string? Owner { get; set; }

    /// <summary>The group of the file of a unix socket, by name or number, such as that of the web server: <c>www-data</c>.</summary>
    /// <remarks>The group of the process by default. Another can be chosen by root and by a member of it.</remarks>
    public string? Group { get; set; }

    /// <summary>Whether the folder of a unix socket is created if it does not exist.</summary>
    /// <remarks>False by default. Under systemd, <c>RuntimeDirectory=</c> does it better: it has an owner, and is removed at stop.</remarks>
    public bool CreateDirectory { get; set; }

    /// <summary>The addresses and networks from which web servers may connect over TCP.</summary>
    /// <remarks>
    /// Such as <c>192.0.2.1</c> and <c>10.0.0.0/8</c>. Empty by default, which lets everybody connect who can reach the port; and whoever
    /// connects is believed in all that a web server says, such as the client's address and user. In configuration it is a list, or one
    /// value with commas. What the variable FCGI_WEB_SERVER_ADDRS says is required besides.
    /// </remarks>
    public IList<string> AllowedAddresses { get; } = [];

    /// <summary>The users, by name or number, whose processes may connect to a unix socket.</summary>
    /// <remarks>
    /// Empty by default. With this or <see cref="AllowedGroups"/>, a process may connect whose user or group is in one of them, on top of
    /// what the permissions of the file allow. Needs Linux.
    /// </remarks>
    public IList<string> AllowedUsers { get; } = [];

    /// <summary>The groups, by name or number, whose members' processes may connect to a unix socket.</summary>
    /// <remarks>See <see cref="AllowedUsers"/>. The supplementary groups of a process count too.</remarks>
    public IList<string> AllowedGroups { get; } = [];

    /// <summary>Where the endpoint was named, to be told with an error.</summary>
    internal string Origin { get; set; } = "the code";

    /// <summary>Whether the application starts without it where the machine does not have the address.</summary>
    internal bool MayBeAbsent { get; init; }

    /// <summary>The same options for another endpoint.</summary>
    internal FastCgiListenOptions At(EndPoint endPoint)
    {
        var copy = (FastCgiListenOptions)MemberwiseClone();
        copy.EndPoint = endPoint;
        return copy;
    }

    /// <inheritdoc/>
    public override string ToString() => Hosting.EndpointAddress.Format(EndPoint);
}
