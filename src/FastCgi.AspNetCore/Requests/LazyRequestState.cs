using System.Collections.Concurrent;
using System.IO.Pipelines;
using System.Runtime.CompilerServices;
using Microsoft.AspNetCore.Http;
using MinDataRate = Microsoft.AspNetCore.Server.Kestrel.Core.MinDataRate;

namespace FastCgi.AspNetCore.Requests;

/// <summary>
/// What few applications ask of a request, or replace in it. Made when it is first needed, so that a request that waits for minutes
/// does not carry it.
/// </summary>
internal sealed class LazyRequestState
{
    // What is made of the params when it is first asked for. Fields, because they are kept by reference.

    /// <summary>The target as the front-end received it, or as middleware has changed it.</summary>
    public string? RawTarget;

    public RequestAddresses? Addresses;

    public TlsConnection? TlsConnection;

    public TlsHandshake? TlsHandshake;

    public List<KeyValuePair<string, string>>? ParameterList;

    /// <summary>The file that the web server gives to a filter.</summary>
    public FilterData? Data;

    public IHeaderDictionary? Headers { get; set; }

    public Stream? Body { get; set; }

    /// <summary>A reader, and the <see cref="Body"/> that it is over.</summary>
    public ReplacedReader? BodyReader;

    // In a box, what is more than a word: other threads read it while it is set.

    public StrongBox<CancellationToken>? AbortedToken { get; set; }

    /// <summary>How fast the body must come, if the application has set it.</summary>
    public StrongBox<MinDataRate?>? MinBodyDataRate { get; set; }

    public string? Scheme { get; set; }

    /// <summary>What the application threw for a request that is wrong.</summary>
    public BadHttpRequestException? BadRequest { get; set; }

    public string? ConnectionId { get; set; }

    public ConcurrentDictionary<string, string?>? SetVariables;

    /// <summary>How far the authorizer has come.</summary>
    public AuthorizationPhase Authorization { get; set; }
}

/// <summary>A reader over a body that middleware has put in place of the request's.</summary>
internal sealed record ReplacedReader(Stream Body, PipeReader Reader);

/// <summary>How far the authorizer of a request in that role has come.</summary>
internal enum AuthorizationPhase : byte
{
    NotAsked,
    Asked,
    Over,
}
