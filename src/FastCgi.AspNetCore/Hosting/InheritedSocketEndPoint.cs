using System.Net;

namespace FastCgi.AspNetCore.Hosting;

/// <summary>The inherited sockets with a name in LISTEN_FDNAMES.</summary>
internal sealed class InheritedSocketEndPoint(string name) : EndPoint
{
    public string Name => name;

    public override string ToString() => name;
}
