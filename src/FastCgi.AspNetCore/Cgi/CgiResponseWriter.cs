using System.Buffers.Text;
using Microsoft.AspNetCore.WebUtilities;

namespace FastCgi.AspNetCore.Cgi;

/// <summary>
/// Writes response headers (RFC 3875, section 6.2), except <c>Status</c> and hop-by-hop fields. Content-Length is
/// written from its number, which is also that of the body.
/// </summary>
internal static class CgiResponseWriter
{
    public static int GetMaxLength(
        ReadOnlySpan<KeyValuePair<string, StringValues>> headers, string? reasonPhrase, byte[]? encodedFields = null)
        => 128 + (4 * (reasonPhrase?.Length ?? 0)) + (encodedFields?.Length ?? GetMaxFieldsLength(
            headers, encodings: null));

    /// <summary>Encodes headers with the application's encodings before the head is written: they may throw.</summary>
    public static byte[] EncodeFields(
        ReadOnlySpan<KeyValuePair<string, StringValues>> headers, Dictionary<string, Encoding> encodings)
    {
        var fields = new byte[GetMaxFieldsLength(headers, encodings)];
        return fields[..WriteFields(fields, headers, encodings)];
    }

    /// <param name="lengthPosition">The position of Content-Length, if it is added later.</param>
    /// <remarks>HAProxy changes a status before <c>Location</c>; lighttpd's authorizer requires it first.</remarks>
    public static int Write(
        Span<byte> destination,
        int statusCode,
        string? reasonPhrase,
        ReadOnlySpan<KeyValuePair<string, StringValues>> headers,
        byte[]? encodedFields,
        long? contentLength,
        bool isStatusFirst,
        out int lengthPosition)
    {
        if (reasonPhrase is not null && HttpCharacters.IndexOfControl(reasonPhrase) >= 0)
            throw new InvalidOperationException("The reason phrase contains a control character.");

        var written = isStatusFirst ? WriteStatus(destination, statusCode, reasonPhrase) : 0;
        if (encodedFields is null)
        {
            written += WriteFields(destination[written..], headers, encodings: null);
        }
        else
        {
            encodedFields.CopyTo(destination[written..]);
            written += encodedFields.Length;
        }

        lengthPosition = written;
        if (contentLength is not null)
            written += WriteLength(destination[written..], contentLength.Value);
        if (!isStatusFirst)
            written += WriteStatus(destination[written..], statusCode, reasonPhrase);
        return written + WriteLineEnd(destination[written..]);
    }

    public static int WriteLength(Span<byte> destination, long contentLength)
    {
        var written = WriteNumber(destination, "Content-Length: "u8, contentLength);
        return written + WriteLineEnd(destination[written..]);
    }

    /// <summary>Whether a field is <c>Status</c> or hop-by-hop (RFC 9110, 7.6.1): web servers obey these.</summary>
    public static bool IsReserved(string? name) => name is not null && name.Length switch
    {
        6 => Is(name, "Status"),
        7 => Is(name, Known.Upgrade) || Is(name, Known.Trailer),
        10 => Is(name, Known.Connection) || Is(name, Known.KeepAlive),
        16 => Is(name, Known.ProxyConnection),
        17 => Is(name, Known.TransferEncoding),
        _ => false,
    };

    /// <summary>Also, the name is null if another thread is removing the header.</summary>
    private static bool IsUnsent(string? name)
        => name is null || IsReserved(name)
            || (name.Length == Known.ContentLength.Length && Is(name, Known.ContentLength));

    private static bool Is(string name, string reserved)
        => string.Equals(name, reserved, StringComparison.OrdinalIgnoreCase);

    private static int GetMaxFieldsLength(
        ReadOnlySpan<KeyValuePair<string, StringValues>> headers, Dictionary<string, Encoding>? encodings)
    {
        var length = 0;
        foreach (var (name, values) in headers)
        {
            if (name is null)
                continue;

            var encoding = encodings?.GetValueOrDefault(name);
            for (var i = 0; i < values.Count; i++)
            {
                var chars = values[i]?.Length ?? 0;
                length += name.Length + 4 + (encoding?.GetMaxByteCount(chars) ?? chars);
            }
        }

        return length;
    }

    private static int WriteFields(
        Span<byte> destination, ReadOnlySpan<KeyValuePair<string, StringValues>> headers,
        Dictionary<string, Encoding>? encodings)
    {
        var written = 0;
        foreach (var (name, values) in headers)
        {
            if (IsUnsent(name))
                continue;

            var encoding = encodings?.GetValueOrDefault(name) ?? Encoding.ASCII;
            for (var i = 0; i < values.Count; i++)
            {
                if (values[i] is { } value)
                    written += WriteField(destination[written..], name, value, encoding);
            }
        }

        return written;
    }

    private static int WriteField(Span<byte> destination, string name, string value, Encoding encoding)
    {
        if (HttpCharacters.IndexOfControl(value) >= 0 || HttpCharacters.IndexOfNonToken(name) >= 0)
            throw new InvalidOperationException($"The response header '{name}' contains a control character.");

        var written = Encoding.ASCII.GetBytes(name, destination);
        destination[written++] = (byte)':';
        destination[written++] = (byte)' ';
        written += encoding.GetBytes(value, destination[written..]);
        return written + WriteLineEnd(destination[written..]);
    }

    /// <summary>Writes the status with its standard reason phrase, unless the application has set one.</summary>
    private static int WriteStatus(Span<byte> destination, int statusCode, string? reasonPhrase)
    {
        var written = WriteNumber(destination, "Status: "u8, statusCode);
        destination[written++] = (byte)' ';
        written += Encoding.UTF8.GetBytes(
            string.IsNullOrEmpty(reasonPhrase) ? GetReason(statusCode) : reasonPhrase, destination[written..]);
        return written + WriteLineEnd(destination[written..]);
    }

    /// <summary>Gets a phrase that is never empty: nginx would omit the required space after the status.</summary>
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

    private static int WriteNumber(Span<byte> destination, ReadOnlySpan<byte> prefix, long number)
    {
        prefix.CopyTo(destination);
        Utf8Formatter.TryFormat(number, destination[prefix.Length..], out var digits);
        return prefix.Length + digits;
    }

    private static int WriteLineEnd(Span<byte> destination)
    {
        "\r\n"u8.CopyTo(destination);
        return 2;
    }
}
