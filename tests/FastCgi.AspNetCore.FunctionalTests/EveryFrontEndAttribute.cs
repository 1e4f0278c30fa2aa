using System.Reflection;
using FastCgi.AspNetCore.FunctionalTests.FrontEnds;
using Xunit.Sdk;

namespace FastCgi.AspNetCore.FunctionalTests;

/// <summary>
/// Runs a theory behind every web server, over TCP and unix sockets, with connections kept and not. Buffering is as the web servers
/// do it by default; what follows the setup in the arguments can be given.
/// </summary>
[AttributeUsage(AttributeTargets.Method, AllowMultiple = true)]
public sealed class EveryFrontEndAttribute(params object[] arguments) : DataAttribute
{
    private static readonly bool[] s_both = [false, true];

    /// <summary>The web servers to run it behind.</summary>
    public FrontEndKind[] Kinds { get; set; } = Enum.GetValues<FrontEndKind>();

    /// <summary>Whether uploads reach the application as they come.</summary>
    public bool StreamsRequests { get; set; }

    /// <summary>Whether what the application sends reaches the client at once.</summary>
    public bool StreamsResponses { get; set; }

    /// <inheritdoc/>
    public override IEnumerable<object[]> GetData(MethodInfo testMethod)
        => from kind in Kinds
           from usesUnixSocket in s_both
           from keepsConnections in s_both
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
