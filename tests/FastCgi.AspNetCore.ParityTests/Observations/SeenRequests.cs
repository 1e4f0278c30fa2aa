using System.Collections.Concurrent;

namespace FastCgi.AspNetCore.ParityTests.Observations;

internal sealed class SeenRequests
{
    /// <summary>The header with which a client finds the observations of its request.</summary>
    public const string Header = "X-Request-Name";

    private readonly ConcurrentDictionary<string, SeenRequest> _byTraceIdentifier = new(StringComparer.Ordinal);
    private readonly ConcurrentDictionary<string, SeenRequest> _byName = new(StringComparer.Ordinal);

    /// <summary>
    /// The request as the server identifies it. The host logs its start before the first middleware sees it.
    /// </summary>
    public SeenRequest GetOrAdd(string traceIdentifier)
        => _byTraceIdentifier.GetOrAdd(traceIdentifier, _ => new SeenRequest());

    public void SetName(string name, SeenRequest request) => _byName[name] = request;

    public SeenRequest? Find(string name) => _byName.GetValueOrDefault(name);
}
