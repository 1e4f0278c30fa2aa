using FastCgi.AspNetCore.Cgi;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;

namespace FastCgi.AspNetCore.Requests;

/// <content>What came with the request, as its features show it. Middleware may set most of it; the server keeps what it needs apart.</content>
internal abstract partial class FastCgiRequest :
    IHttpRequestFeature,
    IHttpRequestIdentifierFeature,
    IHttpConnectionFeature,
    IServerVariablesFeature,
    IBadRequestExceptionFeature
{
    private LazyRequestState? _lazy;
    private TraceName? _traceName;
    private uint _sequence;

    string IHttpRequestFeature.Protocol
    {
        get => Head.Protocol;
        set => Head.Protocol = value;
    }

    string IHttpRequestFeature.Scheme
    {
        get => _lazy?.Scheme ?? (_head.IsHttps ? Uri.UriSchemeHttps : Uri.UriSchemeHttp);
        set
        {
            ThrowIfOver();
            Lazy.Scheme = value;
        }
    }

    string IHttpRequestFeature.Method
    {
        get => Head.Method;
        set => Head.Method = value;
    }

    string IHttpRequestFeature.PathBase
    {
        get => Head.PathBase;
        set => Head.PathBase = value;
    }

    string IHttpRequestFeature.Path
    {
        get => Head.Path;
        set => Head.Path = value;
    }

    string IHttpRequestFeature.QueryString
    {
        get => Head.QueryString;
        set => Head.QueryString = value;
    }

    string IHttpRequestFeature.RawTarget
    {
        get
        {
            var generation = Generation;
            return _lazy?.RawTarget ?? Keep(ref Lazy.RawTarget, Parameters.GetRawTarget(Server.Mapping), generation);
        }

        set
        {
            ThrowIfOver();
            Lazy.RawTarget = value;
        }
    }

    IHeaderDictionary IHttpRequestFeature.Headers
    {
        get => _lazy?.Headers ?? _headers;
        set
        {
            ThrowIfOver();
            Lazy.Headers = value;
        }
    }

    string IHttpRequestIdentifierFeature.TraceIdentifier
    {
        get => TraceIdentifier;
        set
        {
            using (EnterToChange())
                _traceName = value is null ? null : new(Generation, value);
        }
    }

    string IHttpConnectionFeature.ConnectionId
    {
        get => _lazy?.ConnectionId ?? Connection.Id;
        set
        {
            ThrowIfOver();
            Lazy.ConnectionId = value;
        }
    }

    System.Net.IPAddress? IHttpConnectionFeature.RemoteIpAddress
    {
        get => Addresses.RemoteAddress;
        set => Addresses.RemoteAddress = value;
    }

    System.Net.IPAddress? IHttpConnectionFeature.LocalIpAddress
    {
        get => Addresses.LocalAddress;
        set => Addresses.LocalAddress = value;
    }

    int IHttpConnectionFeature.RemotePort
    {
        get => Addresses.RemotePort;
        set => Addresses.RemotePort = value;
    }

    int IHttpConnectionFeature.LocalPort
    {
        get => Addresses.LocalPort;
        set => Addresses.LocalPort = value;
    }

    Exception? IBadRequestExceptionFeature.Error => _lazy?.BadRequest;

    /// <summary>The request's name in logs. Without a lock: it is asked for with those of connections held.</summary>
    public override string TraceIdentifier
    {
        get
        {
            var generation = Generation;
            var before = Volatile.Read(ref _traceName);
            if (before?.Generation == generation)
                return before.Text;
            if (_isOver)
                return string.Empty;

            var made = new TraceName(generation, GetFrontEndIdentifier() ?? $"{Connection.Id}:{_sequence:X8}");
            // What another thread, or the next request, has put there meanwhile stays.
            var there = Interlocked.CompareExchange(ref _traceName, made, before);
            return there != before && there?.Generation == generation ? there.Text : made.Text;
        }
    }

    /// <summary>Absent when the client does not talk TLS to the front-end.</summary>
    private TlsConnection? TlsConnection
    {
        get
        {
            var generation = Generation;
            if (!_head.IsHttps)
                return null;

            return _lazy?.TlsConnection ?? Keep(
                ref Lazy.TlsConnection, new TlsConnection(Parameters, Server.Mapping, Server.Options.AllowAnyClientCertificate, Server.Log), generation);
        }
    }

    private TlsHandshake? TlsHandshake
    {
        get
        {
            var generation = Generation;
            return _head.IsHttps ? _lazy?.TlsHandshake ?? Keep(ref Lazy.TlsHandshake, new TlsHandshake(Parameters, Server.Mapping), generation) : null;
        }
    }

    private RequestAddresses Addresses
    {
        get
        {
            var generation = Generation;
            ThrowIfOver();
            return _lazy?.Addresses ?? Keep(ref Lazy.Addresses, new RequestAddresses(Parameters, Server.Mapping), generation);
        }
    }

    // As of a response (FastCgiResponse.Lazy).
    private LazyRequestState Lazy => _lazy ?? Interlocked.CompareExchange(ref _lazy, new LazyRequestState(), null) ?? _lazy;

    /// <summary>The request line, as middleware has left it.</summary>
    private ref RequestHead Head
    {
        get
        {
            ThrowIfOver();
            return ref _head;
        }
    }

    string? IServerVariablesFeature.this[string variableName]
    {
        get
        {
            ArgumentException.ThrowIfNullOrEmpty(variableName);
            if (_lazy is { SetVariables: not null } lazy)
            {
                using (Response.Output.EnterLock())
                {
                    if (lazy.SetVariables is { } variables && variables.TryGetValue(variableName, out var set))
                        return set;
                }
            }

            return GetVariable(variableName);
        }

        set
        {
            ArgumentException.ThrowIfNullOrEmpty(variableName);
            using (EnterToChange())
                (Lazy.SetVariables ??= new(StringComparer.OrdinalIgnoreCase))[variableName] = value;
        }
    }

    /// <summary>
    /// Stores what was made of the params. It is made without the lock, because that may write to the log; all threads get the one that was
    /// stored first.
    /// </summary>
    /// <param name="kept">Where it is kept.</param>
    /// <param name="made">What was made.</param>
    /// <param name="generation">Which use of the object this was before: it may have ended meanwhile, and serve another request.</param>
    private T Keep<T>(ref T? kept, T made, int generation)
        where T : class
    {
        using (EnterToChange())
        {
            ObjectDisposedException.ThrowIf(generation != Generation, typeof(HttpContext));
            return kept ??= made;
        }
    }

    /// <summary>The id that the front-end has given the request, if it is asked for and fit for logs.</summary>
    private string? GetFrontEndIdentifier()
    {
        if (string.IsNullOrEmpty(Server.Options.TraceIdentifierParameter))
            return null;

        var identifier = GetVariable(Server.Options.TraceIdentifierParameter);
        return HttpCharacters.IsTraceIdentifier(identifier) ? identifier : null;
    }

    /// <summary>With the lock held.</summary>
    private void EndRequestLine()
    {
        _head = default;
        _lazy?.Clear();
        _traceName = null;
    }

    /// <summary>A name, and of which use of the object it is: a thread that comes late does not leave it to the next request.</summary>
    private sealed record TraceName(int Generation, string Text);
}
