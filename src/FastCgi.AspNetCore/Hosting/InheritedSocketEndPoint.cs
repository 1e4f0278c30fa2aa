using System.Net;

namespace FastCgi.AspNetCore.Hosting;

/// <summary>The sockets that this process was given under a name.</summary>
internal sealed class InheritedSocketEndPoint(string name) : EndPoint
{
    /// <summary>Their name in LISTEN_FDNAMES.</summary>
    public string Name => name;

    /// <inheritdoc/>
    public override string ToString() => name;
}
