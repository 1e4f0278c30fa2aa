using System.Text;
using Microsoft.AspNetCore.WebUtilities;

namespace FastCgi.AspNetCore.Cgi;

/// <summary>
/// The <c>Status</c> field (RFC 3875, section 6.3.3) as bytes, with the blank line after it: it is the last of the block, for
/// HAProxy makes a 302 of any status that comes before <c>Location</c>.
/// </summary>
internal static class StatusLine
{
    private static readonly byte[]?[] s_known = Build();

    /// <summary>The bytes for a status with its standard reason.</summary>
    public static ReadOnlySpan<byte> Get(int statusCode)
        => (uint)statusCode < (uint)s_known.Length && s_known[statusCode] is { } known ? known : Create(statusCode, reasonPhrase: null);

    /// <summary>The bytes for a status with a reason of the application's; of an empty one the standard one takes the place.</summary>
    public static byte[] Create(int statusCode, string? reasonPhrase)
        => Encoding.UTF8.GetBytes($"Status: {statusCode} {(string.IsNullOrEmpty(reasonPhrase) ? GetReason(statusCode) : reasonPhrase)}\r\n\r\n");

    /// <summary>
    /// The standard reason, or else the name of the class of the status (RFC 9110, section 15): never nothing, for then nginx leaves
    /// out the space that has to follow the status (RFC 9112, section 4).
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
