using System.Buffers.Text;

namespace FastCgi.AspNetCore.Cgi;

/// <summary>
/// Decodes the path of a request target by Kestrel's rules: escapes once, except <c>%2F</c>, malformed escapes and
/// invalid UTF-8; then dot segments are removed (RFC 3986, section 5.2.4). Empty segments are kept.
/// </summary>
internal static class PathDecoder
{
    public static bool IsPlain(ReadOnlySpan<byte> path) => !path.Contains((byte)'%') && path.IndexOf("/."u8) < 0;

    /// <param name="path">The raw path: ASCII, not empty.</param>
    /// <param name="destination">At least as long as <paramref name="path"/>.</param>
    /// <returns>The length of the result, or -1 if it contains a null character.</returns>
    public static int Decode(ReadOnlySpan<byte> path, Span<byte> destination)
    {
        var length = 0;
        while (!path.IsEmpty)
        {
            var plain = path.IndexOf((byte)'%');
            if (plain < 0)
                plain = path.Length;

            path[..plain].CopyTo(destination[length..]);
            length += plain;
            path = path[plain..];
            if (path.IsEmpty)
                break;

            var decoded = DecodeEscapes(path, destination[length..]);
            if (decoded > 0)
            {
                length += decoded;
                path = path[(3 * decoded)..];
            }
            else if (TryReadEscape(path, out var value) && value == 0)
            {
                return -1;
            }
            else
            {
                destination[length++] = (byte)'%';
                path = path[1..];
            }
        }

        return RemoveDotSegments(destination[..length]);
    }

    /// <returns>The length of the result, which contains at least a slash.</returns>
    public static int RemoveDotSegments(Span<byte> path)
    {
        if (path.IndexOf("/."u8) < 0)
            return path.Length;

        var written = 0;
        for (var read = 0; read < path.Length;)
        {
            // path[read] is the slash before a segment.
            var segmentLength = path[(read + 1)..].IndexOf((byte)'/');
            var isLast = segmentLength < 0;
            if (isLast)
                segmentLength = path.Length - read - 1;

            var segment = path.Slice(read + 1, segmentLength);
            var next = read + 1 + segmentLength;
            if (segment.SequenceEqual("."u8) || segment.SequenceEqual(".."u8))
            {
                if (segment.Length == 2)
                    written = Math.Max(path[..written].LastIndexOf((byte)'/'), 0);
                if (isLast)
                    path[written++] = (byte)'/';
            }
            else
            {
                path[read..next].CopyTo(path[written..]);
                written += next - read;
            }

            read = next;
        }

        return written;
    }

    /// <summary>Decodes the escapes of one UTF-8 character at the start of <paramref name="source"/>.</summary>
    /// <returns>The number of bytes written, one per escape; 0 if the escapes stay unchanged.</returns>
    private static int DecodeEscapes(ReadOnlySpan<byte> source, Span<byte> destination)
    {
        Span<byte> utf8 = stackalloc byte[4];
        var count = 0;
        while (count < utf8.Length && TryReadEscape(source[(3 * count)..], out utf8[count]))
        {
            count++;
            if (utf8[0] < 0x80)
                break;
        }

        if (count == 0 || Rune.DecodeFromUtf8(utf8[..count], out _, out var consumed) != OperationStatus.Done
            || utf8[0] == 0)
            return 0;

        utf8[..consumed].CopyTo(destination);
        return consumed;
    }

    private static bool TryReadEscape(ReadOnlySpan<byte> source, out byte value)
    {
        value = 0;
        return source.Length >= 3 && source[0] == '%'
            && Utf8Parser.TryParse(source.Slice(1, 2), out value, out var read, 'X') && read == 2 && value != '/';
    }
}
