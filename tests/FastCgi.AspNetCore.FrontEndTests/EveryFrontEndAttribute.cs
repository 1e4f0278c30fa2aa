using System.Reflection;
using Xunit.Sdk;

namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>
/// Runs a theory behind every web server, in all its setups (<see cref="FrontEndSetup.All"/>), except those that lack
/// what it needs (<see cref="Shortcomings"/>). Buffering is the web servers' default. Arguments after the setup can be
/// added.
/// </summary>
[AttributeUsage(AttributeTargets.Method, AllowMultiple = true)]
public sealed class EveryFrontEndAttribute(params object[] arguments) : DataAttribute
{
    /// <summary>The web servers to run it behind.</summary>
    public FrontEndKind[] Kinds { get; set; } = Enum.GetValues<FrontEndKind>();

    /// <summary>The abilities that the case needs.</summary>
    public Ability[] Needs { get; set; } = [];

    /// <summary>Whether the client writes raw HTTP/1.1.</summary>
    public bool IsHttp1 { get; set; }

    /// <summary>Whether clients use TLS in all setups.</summary>
    public bool IsTls { get; set; }

    /// <summary>Whether uploads reach the application immediately.</summary>
    public bool StreamsRequests { get; set; }

    /// <summary>Whether output reaches the client immediately.</summary>
    public bool StreamsResponses { get; set; }

    public override IEnumerable<object[]> GetData(MethodInfo testMethod)
        => from setup in FrontEndSetup.All
           where Kinds.Contains(setup.Kind) && !(IsHttp1 && setup.UsesTls) && (!IsTls || setup.UsesTls)
           let chosen = setup with { BuffersRequests = !StreamsRequests, BuffersResponses = !StreamsResponses }
           where !Needs.Any(ability => Shortcomings.Has(chosen, ability))
           select (object[])[chosen, .. arguments];
}
