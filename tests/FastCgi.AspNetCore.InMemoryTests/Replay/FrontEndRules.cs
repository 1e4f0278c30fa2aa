namespace FastCgi.AspNetCore.InMemoryTests.Replay;

/// <summary>
/// A front-end's changes to the HTTP request before the application sees it. Each member is one peculiarity, with the
/// front-ends that have it. Everything else arrives as the client sent it.
/// </summary>
internal sealed class FrontEndRules(Capture capture)
{
    private static readonly char[] s_nameCharacters =
        [.. "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"];

    private bool IsApacheKind => IsAny("apache", "fcgid");

    /// <summary>The captured client runs on the front-end's machine; cgi-fcgi sends its environment.</summary>
    public string RemoteAddress => IsAny("cgi-fcgi") ? "192.0.2.1" : "127.0.0.1";

    public bool TakesHostOfTarget => IsApacheKind;

    /// <summary>Equal headers are joined with commas; nginx and HAProxy repeat the variable.</summary>
    public bool JoinsRepeatedHeaders => IsAny("apache", "fcgid", "lighttpd");

    /// <summary>
    /// Apache joins HTTP/1 cookies like any other header. The others join them correctly, or leave that to this server.
    /// </summary>
    public string GetCookieSeparator(string protocol) => IsApacheKind && protocol != "HTTP/2" ? ", " : "; ";

    /// <summary>The CONTENT_LENGTH of a request without a body: nginx, Apache, and cgi-fcgi pass none.</summary>
    public long? LengthOfNoBody => IsAny("fcgid", "lighttpd", "haproxy") ? 0 : null;

    /// <summary>
    /// Whether a body of unknown length is passed on while it arrives, so that CONTENT_LENGTH may be missing. Other
    /// front-ends count it first.
    /// </summary>
    public bool StreamsBodies
        => IsAny("apache") || (IsAny("nginx") && capture.Mode.EndsWith("nobuf", StringComparison.Ordinal));

    /// <summary>A header that the front-end adds itself.</summary>
    public (string Name, string Value)? Added => IsAny("fcgid") ? ("Connection", "close") : null;

    /// <summary>The header as the front-end passes it on, or <see langword="null"/>.</summary>
    public (string Name, string Value)? Pass(string name, string value)
    {
        if (name.AsSpan().ContainsAnyExcept(s_nameCharacters))
        {
            if (!PassesOddNames)
                return null;
            name = MapOddName(name);
        }

        return IsDropped(name, value) ? null : (name, value);
    }

    private bool PassesOddNames => IsAny("lighttpd") || (IsAny("nginx") && capture.Mode == "opts");

    /// <summary>
    /// lighttpd replaces every special byte with an underscore; nginx replaces only the hyphen. Either way, an
    /// underscore becomes a hyphen.
    /// </summary>
    private string MapOddName(string name) => IsAny("lighttpd")
        ? string.Concat(name.Select(static c => char.IsAsciiLetterOrDigit(c) ? c : '-'))
        : name.Replace('_', '-');

    private bool IsDropped(string name, string value) => name.ToUpperInvariant() switch
    {
        // Dropped by most front-ends, and by this server from the others: httpoxy.
        "PROXY" => true,

        // CGIPassAuth, which the configurations named fix have, passes it in Apache.
        "AUTHORIZATION" or "PROXY-AUTHORIZATION" => IsAny("fcgid", "haproxy")
            || (IsAny("apache") && !capture.Mode.StartsWith("fix", StringComparison.Ordinal)),

        // mod_fcgid sets its own Connection header.
        "CONNECTION" or "KEEP-ALIVE" or "UPGRADE" => IsAny("fcgid", "haproxy"),
        "EXPECT" => IsAny("lighttpd") || (IsAny("haproxy") && value == "100-continue"),
        "TRANSFER-ENCODING" => IsAny("fcgid", "haproxy", "lighttpd"),
        _ => value.Length == 0 && IsAny("lighttpd"),
    };

    private bool IsAny(params ReadOnlySpan<string> frontEnds) => frontEnds.Contains(capture.FrontEnd);
}
