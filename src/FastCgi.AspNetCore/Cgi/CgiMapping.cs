using System.Text.Unicode;

namespace FastCgi.AspNetCore.Cgi;

/// <summary>The mapping of parameters to requests, and its shared strings.</summary>
internal sealed class CgiMapping(FastCgiServerOptions options)
{
    public FastCgiServerOptions Options => options;

    /// <summary>The path base: empty, or with a leading and without a trailing slash.</summary>
    public byte[] PathBase { get; } = Encoding.UTF8.GetBytes(options.PathBase);
    public StringCache Strings { get; } = new();

    /// <summary>Whether a non-ASCII value can be valid, as far as known without the application's encoding.</summary>
    public bool CanDecodeHeader(ReadOnlySpan<byte> value)
        => !value.ContainsAny((byte)'\r', (byte)'\n', (byte)0)
            && (options.RequestHeaderEncodingSelector is not null || Utf8.IsValid(value));

    /// <param name="value">A value that is valid, and not in another encoding.</param>
    public string DecodeHeader(string headerName, ReadOnlySpan<byte> value)
        => Ascii.IsValid(value) && !HeaderNames.IsUncached(headerName)
            ? Strings.GetString(value)
            : Encoding.UTF8.GetString(value);

    /// <summary>Decodes non-ASCII headers as the application selects. Calls the application: hold no lock.</summary>
    /// <param name="texts">The values by the offset of their pair; <see langword="null"/> if there are none.</param>
    public RequestRejection DecodeByApplication(ReadOnlySpan<byte> parameters, out Dictionary<int, string>? texts)
    {
        texts = null;
        var reader = new NameValuePairReader(parameters);
        for (var offset = 0; reader.TryRead(out var name, out var value); offset = reader.Offset)
        {
            if (Ascii.IsValid(value) || !(name.StartsWith("HTTP_"u8) || name.SequenceEqual("CONTENT_TYPE"u8)))
                continue;

            var encoding = HeaderNames.TryGetHeaderName(name, out var headerName)
                ? options.RequestHeaderEncodingSelector?.Invoke(headerName)
                : null;
            if (!TryDecode(encoding, value, out var text))
                return RequestRejection.InvalidHeaderValue;

            (texts ??= [])[offset] = text;
        }

        return RequestRejection.None;
    }

    public string DecodeVariable(ReadOnlySpan<byte> value)
        => Ascii.IsValid(value) ? Strings.GetString(value) : DecodeUncached(value);

    public string DecodeVariable(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value)
        => HeaderNames.IsUncachedVariable(name) ? DecodeUncached(value) : DecodeVariable(value);

    /// <summary>Decodes UTF-8 if valid, otherwise Latin-1: server variables have no defined encoding.</summary>
    public static string DecodeUncached(ReadOnlySpan<byte> value)
        => Utf8.IsValid(value) ? Encoding.UTF8.GetString(value) : Encoding.Latin1.GetString(value);

    /// <summary>Decodes a value. The encoding may replace invalid bytes, or throw.</summary>
    private static bool TryDecode(Encoding? encoding, ReadOnlySpan<byte> value, [NotNullWhen(true)] out string? text)
    {
        text = null;
        try
        {
            if (encoding is not null || Utf8.IsValid(value))
                text = (encoding ?? Encoding.UTF8).GetString(value);
        }
        catch (DecoderFallbackException)
        {
            // A client error, not an application error.
        }

        return text is not null;
    }
}
