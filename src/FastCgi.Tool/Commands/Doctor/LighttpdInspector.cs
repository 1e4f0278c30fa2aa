using FastCgi.Client;
using FastCgi.Tool.Terminal;

namespace FastCgi.Tool.Commands.Doctor;

/// <summary>Checks each place of a lighttpd configuration that passes requests to FastCGI.</summary>
internal sealed class LighttpdInspector(DoctorReport report, AddressInspector addresses)
{
    /// <exception cref="ToolException">Nothing in it passes requests on.</exception>
    public async Task InspectAsync(List<LighttpdDirective> all, CancellationToken cancellationToken)
    {
        var places = Find(all, "fastcgi.server");
        var proxies = Find(all, "proxy.server");
        if (places.Count == 0 && proxies.Count == 0 && report.Problems == 0)
            throw new ToolException(ExitCode.CannotRun, "The configuration has no fastcgi.server. Includes are followed; include_shell is not.");

        foreach (var place in places)
        {
            report.AddFact($"{place.Where}: {place.Path} to {place.Target}");
            report.Apply(LighttpdRules.All, place);
            if (place.Address is not { } address)
            {
                report.AddNotUnderstood($"{place.Where}: '{place.Target}' is not an address");
                continue;
            }

            await addresses.InspectAsync(address, users: null, headBuffer: null, cancellationToken);
            if (await addresses.ReadStatusAsync(address, cancellationToken) is not { } status)
                continue;

            var limits = new ApplicationLimits(status);
            if (place.BodyLimit is { } size)
                limits.CompareBodies(report, place.Get("server.max-request-size")!.Where, place.DescribeBodyLimit(), size);
            limits.CompareTimes(report, place.Where, "read-timeout", place.ReadTimeout);
        }

        foreach (var group in places.GroupBy(static place => (place.Directive, place.Path)).Where(static group => group.Count() > 1))
            addresses.InspectKeys(group.Key.Directive.Where, [.. group.Select(static place => place.Address).OfType<FastCgiAddress>()]);
        foreach (var proxy in proxies)
        {
            if (proxy.Address is not { } address || !await addresses.SpeaksFastCgiAsync(address, cancellationToken))
                continue;

            report.AddProblem(
                "http-to-fastcgi", proxy.Where, $"proxy.server to {proxy.Target}, where an application speaks FastCGI",
                    "the application answers 400, 'This port speaks FastCGI, not HTTP.'",
                $"fastcgi.server = (\"{proxy.Path}\" => (({proxy.Describe()}, \"check-local\" => \"disable\")))", "#400-bad-request");
        }
    }

    private static List<LighttpdPlace> Find(List<LighttpdDirective> all, string name) =>
    [
        .. from directive in all
           where directive.Name == name
           from path in directive.Value.Items
           from backend in path.Value.Items
           where backend.Value["mode"]?.Text != "authorizer"
           select new LighttpdPlace(directive, path.Key ?? "/", backend.Value, all),
    ];
}
