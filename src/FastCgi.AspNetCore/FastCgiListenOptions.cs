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
    /// 4,096 by default; the system cuts it to <c>net.core.somaxconn</c>. At least 1. A socket that the process was given keeps the number
    /// that it came with.
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
