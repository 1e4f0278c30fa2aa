using System.Text;

namespace FastCgi.AspNetCore.Responses;

/// <summary>What is fixed about a response before the application is called.</summary>
internal readonly record struct ResponseSettings
{
    /// <summary>Whether the request is HEAD, so that no body is sent.</summary>
    public bool IsHead { get; init; }

    /// <summary>
    /// Whether the request is in the role Authorizer: 200 allows the access; the status stands first, because lighttpd takes headers in front
    /// of it for those of a permission, and drops them; and no file is left to the web server, because the response would be a 200 then.
    /// </summary>
    public bool IsAuthorizer { get; init; }

    /// <summary>Whether the application may use synchronous writes.</summary>
    public bool AllowSynchronousIO { get; init; }

    /// <summary>The bytes that may be queued before a write waits; <see langword="null"/> for any number.</summary>
    public long? MaxBufferSize { get; init; }

    /// <summary>The application's choice of encodings for headers.</summary>
    public Func<string, Encoding?>? EncodingSelector { get; init; }

    /// <summary>Which files the web server sends itself, if any.</summary>
    public SendFileOffload? SendFileOffload { get; init; }

    /// <summary>Who uncorks the response in time; <see langword="null"/> for nobody.</summary>
    public CorkDeadlines? Deadlines { get; init; }
}
