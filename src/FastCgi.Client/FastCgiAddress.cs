namespace FastCgi.Client;

/// <summary>
/// Represents the address of a FastCGI application: <c>fastcgi://127.0.0.1:9000</c>, <c>fastcgi://[::1]:9000</c>,
/// <c>fastcgi://host:9000</c>, <c>fastcgi://unix:/run/app.sock</c>, or <c>fastcgi://unix:@name</c> for an abstract
/// socket (Linux). The prefix <c>fastcgi://</c> is optional, as is <c>unix:</c> before an absolute path.
/// </summary>
public sealed class FastCgiAddress
{
    private const string Scheme = "fastcgi://";
    private const string UnixPrefix = "unix:";
    private const string Forms =
        "127.0.0.1:9000, [::1]:9000, host:9000, unix:/run/app.sock and unix:@name, with or without fastcgi://";

    private static readonly TimeSpan s_connectPause = TimeSpan.FromMilliseconds(10);

    private readonly string _text;

    private FastCgiAddress(EndPoint endPoint, string text)
    {
        EndPoint = endPoint;
        _text = text;
    }

    /// <summary>
    /// Gets the endpoint: an <see cref="IPEndPoint"/>, a <see cref="DnsEndPoint"/> or a
    /// <see cref="UnixDomainSocketEndPoint"/>.
    /// </summary>
    public EndPoint EndPoint { get; }

    internal bool IsUnix => EndPoint is UnixDomainSocketEndPoint;

    /// <summary>Parses an address.</summary>
    /// <param name="address">The address, in one of the forms of <see cref="FastCgiAddress"/>.</param>
    /// <exception cref="FormatException">The address has none of these forms.</exception>
    public static FastCgiAddress Parse(string address)
    {
        ArgumentNullException.ThrowIfNull(address);
        return TryParse(address, out var parsed)
            ? parsed : throw new FormatException($"'{address}' is not a valid address. Valid forms are {Forms}.");
    }

    /// <summary>Tries to parse an address.</summary>
    /// <param name="address">The address, in one of the forms of <see cref="FastCgiAddress"/>.</param>
    /// <param name="result">The parsed address, or <see langword="null"/> if it is not valid.</param>
    /// <returns><see langword="true"/> if the address is valid; otherwise, <see langword="false"/>.</returns>
    public static bool TryParse([NotNullWhen(true)] string? address, [NotNullWhen(true)] out FastCgiAddress? result)
    {
        address ??= "";
        var rest = address.StartsWith(Scheme, StringComparison.OrdinalIgnoreCase)
            ? address[Scheme.Length..].TrimEnd('/')
            : address;
        var isUnix = rest.StartsWith(UnixPrefix, StringComparison.OrdinalIgnoreCase);
        var path = isUnix ? rest[UnixPrefix.Length..] : rest;
        EndPoint? endPoint = isUnix || path is ['/', ..] ? ToUnix(path) : ToTcp(rest);
        var text = Scheme + (endPoint is UnixDomainSocketEndPoint ? UnixPrefix + path : rest);
        result = endPoint is null ? null : new FastCgiAddress(endPoint, text);
        return result is not null;
    }

    /// <summary>Returns the address with all prefixes.</summary>
    public override string ToString() => _text;

    internal Socket CreateSocket() => IsUnix
        ? new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified)
        : new Socket(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };

    /// <summary>Connects. If the queue of a Unix socket is full, retries; over TCP, the system does.</summary>
    /// <exception cref="SocketException">The connection failed, or was not accepted within the timeout.</exception>
    internal async Task<Socket> ConnectAsync(TimeSpan timeout, TimeProvider time, CancellationToken cancellationToken)
    {
        using var expiry = new CancellationTokenSource(timeout, time);
        using var end = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken, expiry.Token);
        while (true)
        {
            var socket = CreateSocket();
            try
            {
                await socket.ConnectAsync(EndPoint, end.Token).ConfigureAwait(false);
                return socket;
            }
            catch (Exception exception)
            {
                socket.Dispose();
                if (exception is SocketException { SocketErrorCode: not SocketError.WouldBlock } failure)
                    throw new SocketException((int)failure.SocketErrorCode, Explain(failure));
                if (exception is not (SocketException or OperationCanceledException))
                    throw;
            }

            await Task.Delay(s_connectPause, time, end.Token).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            cancellationToken.ThrowIfCancellationRequested();
            if (expiry.IsCancellationRequested)
                throw new SocketException(
                    (int)SocketError.TimedOut,
                    $"{this} did not accept a connection within {(int)timeout.TotalSeconds} s.");
        }
    }

    private string Explain(SocketException exception) => exception.SocketErrorCode switch
    {
        SocketError.AccessDenied => $"Permission denied: the user {GetUser()} may not connect to {this}.",
        SocketError.ConnectionRefused => $"{this} refused the connection: no process is listening.",
        SocketError.HostNotFound or SocketError.NoData or SocketError.TryAgain
            => $"The host of {this} cannot be resolved: {exception.Message}.",
        _ when EndPoint.ToString() is ['/', ..] path && !File.Exists(path) => $"{this}: no such socket.",
        _ => $"Failed to connect to {this}: {exception.Message}.",
    };

    /// <summary>The name of the user, or the number of a user without a name, as in containers.</summary>
    private static string GetUser() => Environment.UserName.Length == 0 && OperatingSystem.IsLinux()
        ? File.ReadLines("/proc/self/status")
            .First(static line => line.StartsWith("Uid:", StringComparison.Ordinal)).Split('\t')[1]
        : Environment.UserName;

    private static UnixDomainSocketEndPoint? ToUnix(string path)
    {
        if (path is not ['/' or '@', _, ..])
            return null;

        try
        {
            return new UnixDomainSocketEndPoint(path[0] == '@' ? "\0" + path[1..] : path);
        }
        catch (ArgumentException)
        {
            // Longer than the system allows, which is about 107 bytes.
            return null;
        }
    }

    private static EndPoint? ToTcp(string text)
    {
        var colon = text.LastIndexOf(':');
        var digits = text.AsSpan(colon + 1);
        if (colon <= 0 || !ushort.TryParse(digits, NumberStyles.None, CultureInfo.InvariantCulture, out var port)
            || port == 0)
            return null;

        var host = text[..colon];
        var isBracketed = host[0] == '[' && host[^1] == ']';
        if (IPAddress.TryParse(host, out var ip))
            return ip.AddressFamily == AddressFamily.InterNetworkV6 == isBracketed ? new IPEndPoint(ip, port) : null;
        return Uri.CheckHostName(host) == UriHostNameType.Dns ? new DnsEndPoint(host, port) : null;
    }
}
