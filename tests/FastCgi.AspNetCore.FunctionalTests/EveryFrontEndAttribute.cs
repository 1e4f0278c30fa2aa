using System.Reflection;
using Xunit.Sdk;

namespace FastCgi.AspNetCore.FunctionalTests;

/// <summary>
/// Runs a theory behind every web server, over TCP and unix sockets, with connections kept and not. Buffering is as the web servers
/// do it by default; what follows the setup in the arguments can be given.
/// </summary>
[AttributeUsage(AttributeTargets.Method, AllowMultiple = true)]
public sealed class EveryFrontEndAttribute(params object[] arguments) : DataAttribute
{
    /// <summary>The web servers to run it behind.</summary>
    public FrontEndKind[] Kinds { get; set; } = Enum.GetValues<FrontEndKind>();

    /// <summary>The ways to reach the application.</summary>
    public bool[] UsesUnixSocket { get; set; } = [false, true];

    /// <summary>The ways to treat the connections to it.</summary>
    public bool[] KeepsConnections { get; set; } = [false, true];

    /// <summary>Whether uploads reach the application as they come.</summary>
    public bool StreamsRequests { get; set; }

    /// <summary>Whether what the application sends reaches the client at once.</summary>
    public bool StreamsResponses { get; set; }

    /// <inheritdoc/>
    public override IEnumerable<object[]> GetData(MethodInfo testMethod)
        => from kind in Kinds
           from usesUnixSocket in UsesUnixSocket
           from keepsConnections in KeepsConnections
           let setup = new FrontEndSetup
           {
               Kind = kind,
               UsesUnixSocket = usesUnixSocket,
               KeepsConnections = keepsConnections,
               BuffersRequests = !StreamsRequests,
               BuffersResponses = !StreamsResponses,
           }
           select (object[])[setup, .. arguments];
}
