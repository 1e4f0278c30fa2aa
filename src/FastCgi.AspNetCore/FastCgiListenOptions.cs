namespace FastCgi.AspNetCore;

/// <summary>Describes an endpoint that the FastCGI server listens on.</summary>
public sealed class FastCgiListenOptions
{
    internal FastCgiListenOptions(EndPoint endPoint)
    {
        EndPoint = endPoint;
    }

    /// <summary>
    /// Gets the endpoint: an IP address and port, a Unix socket, an inherited socket, or an endpoint of a registered
    /// transport.
    /// </summary>
    public EndPoint EndPoint { get; private set; }

    /// <summary>
    /// Gets or sets the maximum number of connections that the system holds until the server accepts them.
    /// </summary>
    /// <remarks>
    /// Defaults to 4,096. The system limits it to <c>net.core.somaxconn</c>; if that is lower, the server logs a
    /// warning. Must be at least 1. Has no effect on an inherited socket, which is already listening.
    /// </remarks>
    public int Backlog
    {
        get;
        set => field = (int)FastCgiServerLimits.InRange(value, 1);
    } = 4_096;

    /// <summary>
    /// Gets or sets the permissions of the socket file. A web server needs write permission to connect.
    /// </summary>
    /// <remarks>
    /// Defaults to 0660 if <see cref="Owner"/> or <see cref="Group"/> is set, otherwise to 0777 reduced by the umask of
    /// the process. In configuration, it is an octal number, such as <c>"0660"</c>. No client can connect before the
    /// owner, group, and mode are set.
    /// </remarks>
    public UnixFileMode? Mode { get; set; }

    /// <summary>Gets or sets the owner of the socket file, by name or number.</summary>
    /// <remarks>Defaults to the user of the process. Only root can set another user.</remarks>
    public string? Owner { get; set; }

    /// <summary>
    /// Gets or sets the group of the socket file, by name or number, such as the group of the web server:
    /// <c>www-data</c>.
    /// </summary>
    /// <remarks>
    /// Defaults to the group of the process. Only root and members of the group can set another group.
    /// </remarks>
    public string? Group { get; set; }

    /// <summary>
    /// Gets or sets a value that indicates whether to create the folder of the socket file if it does not exist.
    /// </summary>
    /// <remarks>
    /// Defaults to <see langword="false"/>. Under systemd, prefer <c>RuntimeDirectory=</c>, which also sets the owner.
    /// </remarks>
    public bool CreateDirectory { get; set; }

    /// <summary>
    /// Gets the addresses and networks from which web servers may connect over TCP, such as <c>192.0.2.1</c> and
    /// <c>10.0.0.0/8</c>.
    /// </summary>
    /// <remarks>
    /// Empty by default: anyone who can reach the port may connect, and the application trusts everything that the peer
    /// sends, such as the client's address and user. In configuration, it is a list or a comma-separated value. If the
    /// variable FCGI_WEB_SERVER_ADDRS is set, a peer must be in that list too.
    /// </remarks>
    public IList<string> AllowedAddresses { get; } = [];

    /// <summary>Gets the users, by name or number, whose processes may connect to the Unix socket.</summary>
    /// <remarks>
    /// Empty by default: the permissions of the file decide. If this or <see cref="AllowedGroups"/> is set, the user or
    /// a group of the peer must also be in one of the two lists. Requires Linux.
    /// </remarks>
    public IList<string> AllowedUsers { get; } = [];

    /// <summary>Gets the groups, by name or number, whose members' processes may connect to the Unix socket.</summary>
    /// <remarks>See <see cref="AllowedUsers"/>. The supplementary groups of the peer count too.</remarks>
    public IList<string> AllowedGroups { get; } = [];

    /// <summary>The source of the endpoint, for error messages.</summary>
    internal string Origin { get; set; } = "the code";

    /// <summary>Whether the application starts without it if the machine does not have the address.</summary>
    internal bool MayBeAbsent { get; init; }

    internal bool ChangesSocketFile => Mode is not null || Owner is not null || Group is not null || CreateDirectory;

    internal FastCgiListenOptions At(EndPoint endPoint)
    {
        var copy = (FastCgiListenOptions)MemberwiseClone();
        copy.EndPoint = endPoint;
        return copy;
    }

    /// <inheritdoc/>
    public override string ToString() => Hosting.Endpoints.EndpointAddress.Format(EndPoint);
}
