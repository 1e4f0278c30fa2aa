using System.Collections.Concurrent;
using MinDataRate = Microsoft.AspNetCore.Server.Kestrel.Core.MinDataRate;

namespace FastCgi.AspNetCore.Requests;

/// <summary>Rarely used state of a request, created on demand to save memory in waiting requests.</summary>
internal sealed class LazyRequestState
{
    // Derived from the parameters on first use. Fields, because they are passed by reference.
    public string? RawTarget;
    public RequestAddresses? Addresses;
    public ITlsConnectionFeature? TlsConnection;
    public List<KeyValuePair<string, string>>? ParameterList;

    // Set by the application. Boxed if longer than a word, because other threads read them meanwhile.
    public PipeReader? BodyReader;
    public ConcurrentDictionary<string, string?>? SetVariables;
    public long MeasuredFrom { get; init; }

    public IHeaderDictionary? Headers { get; set; }
    public Stream? Body { get; set; }
    public StrongBox<CancellationToken>? AbortedToken { get; set; }
    public StrongBox<MinDataRate?>? MinBodyDataRate { get; set; }
    public string? Scheme { get; set; }

    /// <summary>Whether the application has replaced a feature with the address, scheme or host.</summary>
    public bool HasNewOrigin { get; set; }
    public BadHttpRequestException? BadRequest { get; set; }

    /// <summary>Whether the authorizer is running; null before it has started.</summary>
    public bool? IsAuthorizing { get; set; }
}
