using System.Buffers.Text;
using Microsoft.Extensions.Primitives;

namespace FastCgi.AspNetCore.Cgi;

/// <summary>
/// Writes response headers (RFC 3875, section 6.2), without fields that belong to the web server's own connection and
/// without <c>Status</c>, which would override the status code. Values were checked for line breaks and NUL when they
/// were set; this is the last place to check them again.
/// </summary>
internal static class CgiResponseWriter
{
    public static int GetMaxLength(
        ReadOnlySpan<KeyValuePair<string, StringValues>> headers, string? reasonPhrase, byte[]? encodedFields = null)
        => 128 + (4 * (reasonPhrase?.Length ?? 0)) + (encodedFields?.Length ?? GetMaxFieldsLength(
            headers, encodingSelector: null));

    /// <summary>
    /// Encodes fields with the application's encodings before the headers are written: if one throws, it is an
    /// application error.
    /// </summary>
    public static byte[] EncodeFields(
        ReadOnlySpan<KeyValuePair<string, StringValues>> headers, Func<string, Encoding?> encodingSelector)
    {
        var fields = new byte[GetMaxFieldsLength(headers, encodingSelector)];
        return fields[..WriteFields(fields, headers, encodingSelector)];
    }

    /// <remarks>
    /// The status comes last, because HAProxy changes it if a <c>Location</c> follows; for an authorizer, lighttpd
    /// requires it first.
    /// </remarks>
    public static int Write(
        Span<byte> destination,
        int statusCode,
        string? reasonPhrase,
        ReadOnlySpan<KeyValuePair<string, StringValues>> headers,
        byte[]? encodedFields,
        long? contentLength,
        bool isStatusFirst = false)
    {
        if (reasonPhrase is not null && HttpCharacters.IndexOfControl(reasonPhrase) >= 0)
            throw new InvalidOperationException("The reason phrase contains a control character.");

        var status = reasonPhrase is null ? StatusLine.Get(statusCode) : StatusLine.Create(statusCode, reasonPhrase);
        var written = 0;
        if (isStatusFirst)
        {
            // Without the trailing blank line.
            status[..^2].CopyTo(destination);
            written = status.Length - 2;
            status = status[^2..];
        }

        if (encodedFields is null)
        {
            written += WriteFields(destination[written..], headers, encodingSelector: null);
        }
        else
        {
            encodedFields.CopyTo(destination[written..]);
            written += encodedFields.Length;
        }

        if (contentLength is not null)
            written += WriteContentLength(destination[written..], contentLength.Value);

        status.CopyTo(destination[written..]);
        return written + status.Length;
    }

    /// <summary>
    /// Whether a field is <c>Status</c>, or a hop-by-hop field (RFC 9110, section 7.6.1), which web servers would
    /// forward or obey.
    /// </summary>
    public static bool IsReserved(string name) => name.Length switch
    {
        6 => Is(name, "Status"),
        7 => Is(name, Known.Upgrade) || Is(name, Known.Trailer),
        10 => Is(name, Known.Connection) || Is(name, Known.KeepAlive),
        16 => Is(name, Known.ProxyConnection),
        17 => Is(name, Known.TransferEncoding),
        _ => false,
    };

    private static bool Is(string name, string reserved)
        => string.Equals(name, reserved, StringComparison.OrdinalIgnoreCase);

    private static int GetMaxFieldsLength(
        ReadOnlySpan<KeyValuePair<string, StringValues>> headers, Func<string, Encoding?>? encodingSelector)
    {
        var length = 0;
        foreach (var (name, values) in headers)
        {
            var encoding = encodingSelector?.Invoke(name);
            for (var i = 0; i < values.Count; i++)
            {
                var chars = values[i]?.Length ?? 0;
                length += name.Length + 4 + (encoding?.GetMaxByteCount(chars) ?? chars);
            }
        }

        return length;
    }

    private static int WriteFields(
        Span<byte> destination, ReadOnlySpan<KeyValuePair<string, StringValues>> headers, Func<string,
            Encoding?>? encodingSelector)
    {
        var written = 0;
        foreach (var (name, values) in headers)
        {
            if (IsReserved(name))
                continue;

            for (var i = 0; i < values.Count; i++)
            {
                if (values[i] is { } value)
                    written += WriteField(destination[written..], name, value, encodingSelector);
            }
        }

        return written;
    }

    private static int WriteField(
        Span<byte> destination, string name, string value, Func<string, Encoding?>? encodingSelector)
    {
        if (HttpCharacters.IndexOfControl(value) >= 0 || HttpCharacters.IndexOfNonToken(name) >= 0)
            throw new InvalidOperationException($"The response header '{name}' contains a control character.");

        var written = Encoding.ASCII.GetBytes(name, destination);
        destination[written++] = (byte)':';
        destination[written++] = (byte)' ';

        var encoding = encodingSelector?.Invoke(name) ?? Encoding.ASCII;
        written += encoding.GetBytes(value, destination[written..]);
        destination[written++] = (byte)'\r';
        destination[written++] = (byte)'\n';
        return written;
    }

    private static int WriteContentLength(Span<byte> destination, long contentLength)
    {
        var prefix = "Content-Length: "u8;
        prefix.CopyTo(destination);
        Utf8Formatter.TryFormat(contentLength, destination[prefix.Length..], out var digits);
        var written = prefix.Length + digits;
        "\r\n"u8.CopyTo(destination[written..]);
        return written + 2;
    }
}
