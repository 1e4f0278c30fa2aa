namespace FastCgi.AspNetCore.Hosting.Endpoints;

internal sealed class InheritedSocketEndPoint(string name) : EndPoint
{
    public string Name => name;

    public override string ToString() => name;
}
