namespace FastCgi.AspNetCore.Cgi;

internal struct RequestHead
{
    /// <summary>The constant of <c>HttpMethods</c> if there is one.</summary>
    public string Method;

    /// <summary>The client's protocol; the constant of <c>HttpProtocol</c> if there is one.</summary>
    public string Protocol;

    public string PathBase;

    /// <summary>The path without the base, decoded except for <c>%2F</c>.</summary>
    public string Path;

    /// <summary>The query including <c>?</c>, or empty.</summary>
    public string QueryString;

    /// <summary>The length of the body; <see langword="null"/> if the web server did not send it.</summary>
    public long? ContentLength;

    /// <summary>The offset of the Host header in the parameters; negative if absent.</summary>
    public int HostOffset;

    public bool IsHttps;
    public readonly string Scheme => IsHttps ? Uri.UriSchemeHttps : Uri.UriSchemeHttp;

    /// <summary>Whether the port of the web server is not a default port, so URLs must contain it.</summary>
    public bool IsPortUnusual;

    // Symptoms of a web server that is configured incorrectly.
    public bool HasHostWithoutPort;
    public bool LacksTarget;
}
