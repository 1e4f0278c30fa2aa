using Microsoft.AspNetCore.WebUtilities;

namespace FastCgi.AspNetCore.Cgi;

/// <summary>
/// The <c>Status</c> field (RFC 3875, section 6.3.3), encoded, with the blank line after it. It comes last, because HAProxy turns any status before
/// <c>Location</c> into 302.
/// </summary>
internal static class StatusLine
{
    private static readonly byte[]?[] s_known = Build();

    public static ReadOnlySpan<byte> Get(int statusCode)
        => (uint)statusCode < (uint)s_known.Length && s_known[statusCode] is { } known ? known : Create(statusCode, reasonPhrase: null);

    /// <summary>An empty reason phrase is replaced by the standard one.</summary>
    public static byte[] Create(int statusCode, string? reasonPhrase)
        => Encoding.UTF8.GetBytes($"Status: {statusCode} {(string.IsNullOrEmpty(reasonPhrase) ? GetReason(statusCode) : reasonPhrase)}\r\n\r\n");

    /// <summary>
    /// The standard reason phrase, or the name of the status class (RFC 9110, section 15). Never empty, because nginx would omit the required space after
    /// the status (RFC 9112, section 4).
    /// </summary>
    private static string GetReason(int statusCode) => ReasonPhrases.GetReasonPhrase(statusCode) is { Length: > 0 } reason ? reason : (statusCode / 100) switch
    {
        2 => "Successful",
        3 => "Redirection",
        4 => "Client Error",
        5 => "Server Error",
        _ => "Unknown",
    };

    private static byte[]?[] Build()
    {
        var known = new byte[]?[600];
        for (var code = 200; code < known.Length; code++)
        {
            if (ReasonPhrases.GetReasonPhrase(code).Length > 0)
                known[code] = Create(code, reasonPhrase: null);
        }

        return known;
    }
}
