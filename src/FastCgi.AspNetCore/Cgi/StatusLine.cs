using Microsoft.AspNetCore.WebUtilities;

namespace FastCgi.AspNetCore.Cgi;

/// <summary>
/// The encoded <c>Status</c> field and a blank line. It comes last: HAProxy turns any status before <c>Location</c>
/// into 302.
/// </summary>
internal static class StatusLine
{
    private static readonly byte[]?[] s_known = Build();

    public static ReadOnlySpan<byte> Get(int statusCode)
        => (uint)statusCode < (uint)s_known.Length && s_known[statusCode] is { } known
            ? known
            : Create(statusCode, reasonPhrase: null);

    /// <summary>An empty reason phrase is replaced by the standard one.</summary>
    public static byte[] Create(int statusCode, string? reasonPhrase)
        => Encoding.UTF8.GetBytes($"Status: {statusCode} "
            + $"{(string.IsNullOrEmpty(reasonPhrase) ? GetReason(statusCode) : reasonPhrase)}\r\n\r\n");

    /// <summary>
    /// The standard reason phrase, or the name of the status class. If it were empty, nginx would omit the required
    /// space after the status.
    /// </summary>
    private static string GetReason(int statusCode)
    {
        if (ReasonPhrases.GetReasonPhrase(statusCode) is { Length: > 0 } reason)
            return reason;

        return (statusCode / 100) switch
        {
            2 => "Successful",
            3 => "Redirection",
            4 => "Client Error",
            5 => "Server Error",
            _ => "Unknown",
        };
    }

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
