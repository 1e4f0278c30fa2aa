namespace FastCgi.Client;

/// <summary>Represents a request to a FastCGI application. It can be sent more than once if its body can.</summary>
public sealed class FastCgiRequestMessage
{
    /// <summary>
    /// Gets or sets the role. Defaults to <see cref="FastCgiRequestRole.Responder"/>. Any 16-bit number is sent as is.
    /// </summary>
    /// <exception cref="ArgumentOutOfRangeException">The value has more than 16 bits.</exception>
    public FastCgiRequestRole Role
    {
        get;
        set => field = (int)value is >= 0 and <= ushort.MaxValue
            ? value
            : throw new ArgumentOutOfRangeException(nameof(value), value, "Must be 0 to 65,535.");
    } = FastCgiRequestRole.Responder;

    /// <summary>
    /// Gets the parameters. An application expects at least REQUEST_METHOD and SCRIPT_NAME or REQUEST_URI. The client
    /// adds only CONTENT_LENGTH, if there is a body and the parameter is missing or empty.
    /// </summary>
    public FastCgiParameters Parameters { get; internal init; } = [];

    /// <summary>
    /// Gets or sets the body (FCGI_STDIN), from the current position of the stream, or <see langword="null"/> for an
    /// empty body. The stream is read while the response arrives, and is not disposed. If its length is unknown, see
    /// <see cref="FastCgiClientOptions.StreamsBodiesOfUnknownLength"/>.
    /// </summary>
    public Stream? Body
    {
        get;
        set
        {
            field = value;
            BodySource = value is null ? null : new ContentSource(value);
        }
    }

    internal ContentSource? BodySource { get; set; }

    internal bool IsIdempotent => Role == FastCgiRequestRole.Authorizer
        || Parameters["REQUEST_METHOD"] is "GET" or "HEAD" or "OPTIONS" or "TRACE" or "PUT" or "DELETE";

    /// <summary>The length of the body by CONTENT_LENGTH. An authorizer gets the length, but no body.</summary>
    internal long? DeclaredLength => Role != FastCgiRequestRole.Authorizer
        && long.TryParse(Parameters["CONTENT_LENGTH"], NumberStyles.None, CultureInfo.InvariantCulture, out var length)
            ? length
            : null;

    internal bool CanSendAgain => BodySource is not { CanWriteAgain: false };

    /// <summary>Copies the request, with a body whose length is declared.</summary>
    internal FastCgiRequestMessage WithBody(ContentSource body, long length)
    {
        var copy = new FastCgiRequestMessage { Role = Role, BodySource = body };
        foreach (var parameter in Parameters)
            copy.Parameters.Add(parameter.NameBytes, parameter.ValueBytes);
        copy.Parameters["CONTENT_LENGTH"] = length.ToString(CultureInfo.InvariantCulture);
        return copy;
    }
}

/// <summary>Specifies what the application is asked to do (FastCGI specification, section 6).</summary>
public enum FastCgiRequestRole
{
    /// <summary>Handle an HTTP request.</summary>
    Responder = 1,

    /// <summary>Allow or refuse an HTTP request, without its body.</summary>
    Authorizer = 2,

    /// <summary>Filter a file. The client sends none: no web server uses this role, and servers refuse it.</summary>
    Filter = 3,
}
