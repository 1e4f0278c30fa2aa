using System.Diagnostics.CodeAnalysis;
using System.Text;
using System.Text.Unicode;
using FastCgi.AspNetCore.Protocol;

namespace FastCgi.AspNetCore.Cgi;

/// <summary>How one server maps params to requests: a snapshot of its options, and the strings its requests share.</summary>
internal sealed class CgiMapping
{
    /// <summary>The most name-value pairs of a request.</summary>
    public int MaxParameterCount { get; init; } = int.MaxValue;

    /// <summary>Where the path comes from.</summary>
    public FastCgiPathSource PathSource { get; init; }

    /// <summary>Whether SCRIPT_NAME is trusted as the path base.</summary>
    public bool TrustScriptName { get; init; }

    /// <summary>The configured path base: empty, or with a leading and no trailing slash.</summary>
    public string PathBase
    {
        get;
        init
        {
            field = value;
            PathBaseBytes = Encoding.UTF8.GetBytes(value);
        }
    } = string.Empty;

    /// <summary><see cref="PathBase"/> as UTF-8.</summary>
    public byte[] PathBaseBytes { get; private init; } = [];

    /// <summary>Chooses the encoding of a header by its name; <see langword="null"/> is strict UTF-8.</summary>
    public Func<string, Encoding?>? RequestHeaderEncodingSelector { get; init; }

    /// <summary>The strings that requests share.</summary>
    public StringCache Strings { get; } = new();

    /// <summary>Whether the value of a header, known to be more than plain ASCII, is one that the application may see, as far as the server itself can tell.</summary>
    public bool CanDecodeHeader(ReadOnlySpan<byte> value)
        => !value.ContainsAny((byte)'\r', (byte)'\n', (byte)0) && (RequestHeaderEncodingSelector is not null || Utf8.IsValid(value));

    /// <summary>The text of a header's value that is ASCII or UTF-8.</summary>
    /// <param name="headerName">The header.</param>
    /// <param name="value">A value that <see cref="CanDecodeHeader"/> accepted, and for which the application chose no other encoding.</param>
    public string DecodeHeader(string headerName, ReadOnlySpan<byte> value)
    {
        if (Ascii.IsValid(value))
            return HeaderNames.IsPersonal(headerName) ? Encoding.ASCII.GetString(value) : Strings.GetString(value);

        return Encoding.UTF8.GetString(value);
    }

    /// <summary>
    /// Decodes the headers beyond ASCII with the encodings that the application chooses. Selector and encodings are code of the
    /// application: no lock may be held.
    /// </summary>
    /// <param name="parameters">The whole PARAMS stream, which was mapped.</param>
    /// <param name="texts">The values by the offset of their pair; <see langword="null"/> if there are none.</param>
    /// <returns>Why the request cannot be given to the application, if an encoding refuses a value.</returns>
    public RequestRejection DecodeByApplication(ReadOnlySpan<byte> parameters, out Dictionary<int, string>? texts)
    {
        texts = null;
        var reader = new NameValuePairReader(parameters);
        for (var offset = 0; reader.TryRead(out var name, out var value); offset = reader.Offset)
        {
            if (Ascii.IsValid(value) || !(name.StartsWith("HTTP_"u8) || name.SequenceEqual("CONTENT_TYPE"u8)))
                continue;

            var encoding = HeaderNames.TryGetHeaderName(name, out var headerName) ? RequestHeaderEncodingSelector?.Invoke(headerName) : null;
            if (!TryDecode(encoding, value, out var text))
                return RequestRejection.InvalidHeaderValue;

            (texts ??= [])[offset] = text;
        }

        return RequestRejection.None;
    }

    /// <summary>The text of a server variable, which is UTF-8 if it can be and else Latin-1: nobody promised an encoding.</summary>
    public string DecodeVariable(ReadOnlySpan<byte> value)
    {
        if (Ascii.IsValid(value))
            return Strings.GetString(value);

        return Utf8.IsValid(value) ? Encoding.UTF8.GetString(value) : Encoding.Latin1.GetString(value);
    }

    /// <summary>The text of a server variable, of which cookies and credentials are not shared.</summary>
    /// <inheritdoc cref="DecodeVariable(ReadOnlySpan{byte})"/>
    public string DecodeVariable(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value)
        => HeaderNames.IsPersonalVariable(name) && Ascii.IsValid(value) ? Encoding.ASCII.GetString(value) : DecodeVariable(value);

    /// <summary>Encodings that replace what they cannot decode take any value; others throw.</summary>
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
            // The client's mistake, not the application's.
        }

        return text is not null;
    }
}
