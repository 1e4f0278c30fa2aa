namespace FastCgi.AspNetCore.Cgi;

/// <summary>What the params say of the request, in ASP.NET Core's terms.</summary>
internal struct RequestHead
{
    /// <summary>The method, as the constant of <c>HttpMethods</c> where there is one.</summary>
    public string Method;

    /// <summary>The client's protocol, as the constant of <c>HttpProtocol</c> where there is one.</summary>
    public string Protocol;

    /// <summary>The path base, escapes decoded.</summary>
    public string PathBase;

    /// <summary>The path behind the base, escapes decoded but for <c>%2F</c>.</summary>
    public string Path;

    /// <summary>The query with its <c>?</c>, or empty.</summary>
    public string QueryString;

    /// <summary>The bytes of the request body; <see langword="null"/> where the front-end did not tell.</summary>
    public long? ContentLength
    {
        readonly get => _contentLengthPlusOne == 0 ? null : _contentLengthPlusOne - 1;
        set => _contentLengthPlusOne = value + 1 ?? 0;
    }

    /// <summary>Where in the params the Host header is; negative if there is none.</summary>
    public int HostOffset;

    /// <summary>Whether the client talks TLS to the front-end.</summary>
    public bool IsHttps;

    /// <summary>Whether the front-end was reached on a port that is the default of no scheme, so that a URL of the site names it.</summary>
    public bool IsPortUnusual;

    /// <summary>Whether no parameter says which path is asked for.</summary>
    public bool LacksTarget;

    // Half the size of a long that may be null; there is one for each request that waits.
    private long _contentLengthPlusOne;
}
