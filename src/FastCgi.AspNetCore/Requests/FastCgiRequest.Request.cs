using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.AspNetCore.Server.Kestrel.Core.Features;

namespace FastCgi.AspNetCore.Requests;

/// <content>
/// Properties that middleware may replace, of which the server keeps copies; the body; and FastCGI features.
/// </content>
internal abstract partial class FastCgiRequest :
    IHttpRequestFeature,
    IHttpRequestBodyDetectionFeature,
    IRequestBodyPipeFeature,
    IHttpMinRequestBodyDataRateFeature,
    IHttpMaxRequestBodySizeFeature,
    IHttpRequestIdentifierFeature,
    IServerVariablesFeature,
    IBadRequestExceptionFeature,
    IFastCgiRequestFeature
{
    // The request whose authorizer runs in this execution context. Responses of other code cannot allow it.
    private static readonly AsyncLocal<FastCgiRequest?> s_authorizing = new();

    private LazyRequestState? _lazy = server.Statistics.IsWatched
        ? new LazyRequestState { MeasuredFrom = server.Time.Source.GetTimestamp() }
        : null;
    private string? _traceIdentifier;

    string IHttpRequestFeature.Protocol
    {
        get => _head.Protocol;
        set => _head.Protocol = value;
    }

    string IHttpRequestFeature.Scheme
    {
        get => _lazy?.Scheme ?? _head.Scheme;
        set => Lazy.Scheme = value;
    }

    string IHttpRequestFeature.Method
    {
        get => _head.Method;
        set => _head.Method = value;
    }

    string IHttpRequestFeature.PathBase
    {
        get => _head.PathBase;
        set => _head.PathBase = value;
    }

    string IHttpRequestFeature.Path
    {
        get => _head.Path;
        set => _head.Path = value;
    }

    string IHttpRequestFeature.QueryString
    {
        get => _head.QueryString;
        set => _head.QueryString = value;
    }

    string IHttpRequestFeature.RawTarget
    {
        get => _lazy?.RawTarget ?? Keep(ref Lazy.RawTarget, Parameters.GetRawTarget());
        set => Lazy.RawTarget = value;
    }

    IHeaderDictionary IHttpRequestFeature.Headers
    {
        get => _lazy?.Headers ?? Headers;
        set => Lazy.Headers = value;
    }

    /// <summary>The system's time at the start, for the latency; 0 if the status was not watched then.</summary>
    public long MeasuredFrom => _lazy?.MeasuredFrom ?? 0;

    public string TraceIdentifier
    {
        get => _traceIdentifier
            ?? Keep(ref _traceIdentifier, GetWebServerIdentifier() ?? $"{Connection.Id}:{Sequence:X8}");
        set => _traceIdentifier = value;
    }

    Exception? IBadRequestExceptionFeature.Error => _lazy?.BadRequest;

    /// <summary>Whether the application has set the client's address, the scheme, the host, or their feature.</summary>
    public bool HasNewOrigin
        => _headers is { HasNewHost: true }
            || _lazy is { Scheme: not null } or { HasNewOrigin: true } or { Addresses.HasNewAddress: true };

    /// <summary>Null unless the client uses TLS to the web server.</summary>
    private ITlsConnectionFeature? TlsConnection => _head.IsHttps
        ? _lazy?.TlsConnection ?? Keep(
            ref Lazy.TlsConnection, new TlsConnectionFeature
            {
                ClientCertificate = Parameters.GetClientCertificate(Server.Options, Log),
            })
        : null;

    private RequestAddresses Addresses
        => _lazy?.Addresses ?? Keep(ref Lazy.Addresses, new RequestAddresses(Parameters, Connection.Id));
    private LazyRequestState Lazy => _lazy ?? Keep(ref _lazy, new LazyRequestState());

    string? IServerVariablesFeature.this[string variableName]
    {
        get
        {
            ArgumentException.ThrowIfNullOrEmpty(variableName);
            return _lazy?.SetVariables is { } variables && variables.TryGetValue(variableName, out var set)
                ? set
                : Parameters.GetVariable(variableName);
        }

        set
        {
            ArgumentException.ThrowIfNullOrEmpty(variableName);
            var variables = Lazy.SetVariables ?? Keep(ref Lazy.SetVariables, new(StringComparer.OrdinalIgnoreCase));
            variables[variableName] = value;
        }
    }

    /// <summary>Stores a lazily created value: all threads get the one that was stored first.</summary>
    private static T Keep<T>(ref T? kept, T made)
        where T : class
        => Interlocked.CompareExchange(ref kept, made, null) ?? made;

    /// <summary>Gets the web server's id of the request, if configured and safe to log.</summary>
    private string? GetWebServerIdentifier()
        => Server.Options.TraceIdentifierParameter is { Length: > 0 } name
            && Parameters.GetVariable(name) is { } identifier && HttpCharacters.IsTraceIdentifier(identifier)
                ? identifier
                : null;

    public string? OriginalHost => (_headers ?? Keep(ref _headers, new RequestHeaders(this))).GetHost();

    public string? GetHostAsSent() => _head.HostOffset < 0 ? null : Parameters.GetHost(_head.HostOffset);

    public void ReportUserNotTaken(string userParameter, string typeParameter)
        => Server.Advise(
            (Parameters.Software, userParameter, typeParameter),
            static (advisor, user) => advisor.OnUserNotTaken(user.Software, user.userParameter, user.typeParameter));

    /// <summary>Whether an authorizer request may get a status: only a running authorizer may allow access.</summary>
    public bool MaySendAuthorizerStatus(int statusCode)
        => statusCode >= StatusCodes.Status400BadRequest
            || (s_authorizing.Value == this && _lazy is { IsAuthorizing: true });

    /// <summary>Starts an authorizer. A second one cannot allow the request: it checks another path.</summary>
    public void BeginAuthorization()
    {
        Lazy.IsAuthorizing = Lazy.IsAuthorizing is null;
        s_authorizing.Value = this;
    }

    /// <summary>Ends the authorizer. Its permission was sent, and nothing later can allow the request.</summary>
    public void EndAuthorization() => Lazy.IsAuthorizing = false;

    IReadOnlyList<KeyValuePair<string, string>> IFastCgiRequestFeature.Parameters
        => _lazy?.ParameterList ?? Keep(ref Lazy.ParameterList, Parameters.GetVariables());

    TextWriter IFastCgiRequestFeature.StandardError => Response.OpenStandardError();

    bool IHttpMaxRequestBodySizeFeature.IsReadOnly => Body.HasStartedReading;

    public long? MaxRequestBodySize
    {
        get => Body.MaxLength;
        set
        {
            if (Body.HasStartedReading)
                throw new InvalidOperationException(
                    "The maximum request body size cannot be modified after the app has already started reading from "
                        + "the request body.");

            if (value is not null)
                ArgumentOutOfRangeException.ThrowIfNegative(value.Value);
            Body.MaxLength = value;
        }
    }

    private Stream BodyStream => Body.Stream ?? Keep(ref Body.Stream, new RequestBodyStream(this));

    // Before the end of STDIN, the header announces a streamed body, except for HTTP/2.
    bool IHttpRequestBodyDetectionFeature.CanHaveBody => SendsBody
        ?? (!string.IsNullOrEmpty(Parameters.GetHeader(Known.TransferEncoding)) || IsMethodWithBody(_head.Method));

    PipeReader IRequestBodyPipeFeature.Reader
    {
        get
        {
            if (_lazy?.Body is not { } body)
                return Body;
            if (_lazy.BodyReader is { } existing)
                return existing;

            var reader = _lazy.BodyReader = PipeReader.Create(body);
            Response.OnCompleted(static async reader => await ((PipeReader)reader).CompleteAsync(), reader);
            return reader;
        }
    }

    Stream IHttpRequestFeature.Body
    {
        get => _lazy?.Body ?? BodyStream;
        set
        {
            var body = ReferenceEquals(value, BodyStream) ? null : value;
            if (body == Lazy.Body)
                return;

            Lazy.Body = body;
            Lazy.BodyReader = null;
        }
    }

    public MinDataRate? MinDataRate
    {
        get => _lazy?.MinBodyDataRate is { } set ? set.Value : Server.Options.Limits.MinRequestBodyDataRate;
        set => Lazy.MinBodyDataRate = new(value);
    }

    public override BodyRate? RequiredBodyRate
        => MinDataRate is { } rate ? new BodyRate(rate.BytesPerSecond, rate.GracePeriod) : null;

    private static bool IsMethodWithBody(string method)
        => !HttpMethods.IsGet(method) && !HttpMethods.IsHead(method) && !HttpMethods.IsDelete(method)
            && !HttpMethods.IsOptions(method)
            && !HttpMethods.IsTrace(method) && !HttpMethods.IsConnect(method);
}
