using System.IO.Pipelines;
using System.Runtime.CompilerServices;
using Microsoft.AspNetCore.Http;
using MinDataRate = Microsoft.AspNetCore.Server.Kestrel.Core.MinDataRate;

namespace FastCgi.AspNetCore.Requests;

/// <summary>
/// What few applications ask of a request, or replace in it. Made when it is first needed, so that a request that waits for minutes
/// does not carry it, and kept with the request object for the next one.
/// </summary>
internal sealed class LazyRequestState
{
    // What is made of the params when it is first asked for. Fields, because they are kept by reference.

    /// <summary>The target as the front-end received it, or as middleware has changed it.</summary>
    public string? RawTarget;

    /// <summary>The addresses of both ends.</summary>
    public RequestAddresses? Addresses;

    /// <summary>What is known of the client's TLS connection.</summary>
    public TlsConnection? TlsConnection;

    /// <inheritdoc cref="TlsConnection"/>
    public TlsHandshake? TlsHandshake;

    /// <summary>All params as strings.</summary>
    public List<KeyValuePair<string, string>>? ParameterList;

    /// <summary>The headers that middleware has put in place of the request's.</summary>
    public IHeaderDictionary? Headers { get; set; }

    /// <summary>The body that middleware has put in place of the request's.</summary>
    public Stream? Body { get; set; }

    /// <summary>A reader over <see cref="Body"/>.</summary>
    public PipeReader? BodyReader { get; set; }

    // In a box, what is more than a word: other threads read it while it is set.

    /// <summary>The token that middleware has put in place of the request's.</summary>
    public StrongBox<CancellationToken>? AbortedToken { get; set; }

    /// <summary>How fast the body must come, if the application has set it.</summary>
    public StrongBox<MinDataRate?>? MinBodyDataRate { get; set; }

    /// <summary>The scheme that middleware has put in place of the request's.</summary>
    public string? Scheme { get; set; }

    /// <summary>What the application threw for a request that is wrong.</summary>
    public BadHttpRequestException? BadRequest { get; set; }

    /// <summary>The id that middleware has given the connection.</summary>
    public string? ConnectionId { get; set; }

    /// <summary>The server variables that middleware has set. With the lock of the request held.</summary>
    public Dictionary<string, string?>? SetVariables { get; set; }

    /// <summary>Forgets all of it.</summary>
    public void Clear()
    {
        Headers = null;
        Body = null;
        BodyReader = null;
        AbortedToken = null;
        MinBodyDataRate = null;
        Scheme = null;
        BadRequest = null;
        RawTarget = null;
        ConnectionId = null;
        Addresses = null;
        TlsConnection = null;
        TlsHandshake = null;
        SetVariables = null;
        ParameterList = null;
    }
}
