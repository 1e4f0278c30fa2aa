using System.Text;
using System.Text.Unicode;

namespace FastCgi.AspNetCore.Cgi;

/// <summary>How one server maps params to requests: a snapshot of its options, and the strings its requests share.</summary>
internal sealed class CgiMapping
{
    /// <summary>The most name-value pairs of a request.</summary>
    public int MaxParameterCount { get; init; } = int.MaxValue;

    /// <summary>Where the path comes from.</summary>
    public FastCgiPathSource PathSource { get; init; }

    /// <summary>Whether SCRIPT_NAME is trusted as the path base.</summary>
    public FastCgiPathBaseSource PathBaseSource { get; init; }

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

    /// <summary>Whether the value of a header, known to be more than plain ASCII, is one that the application may see.</summary>
    public bool CanDecodeHeader(ReadOnlySpan<byte> variableName, ReadOnlySpan<byte> value)
    {
        if (value.ContainsAny((byte)'\r', (byte)'\n', (byte)0))
            return false;

        if (RequestHeaderEncodingSelector is not null && HeaderNames.TryGetHeaderName(variableName, out var headerName)
            && RequestHeaderEncodingSelector(headerName) is { } encoding)
            return CanDecode(encoding, value);

        return Utf8.IsValid(value);
    }

    /// <summary>The text of a header's value.</summary>
    /// <param name="headerName">The header, for the choice of the encoding.</param>
    /// <param name="value">A value that <see cref="CanDecodeHeader"/> accepted.</param>
    public string DecodeHeader(string headerName, ReadOnlySpan<byte> value)
    {
        if (Ascii.IsValid(value))
            return HeaderNames.IsPersonal(headerName) ? Encoding.ASCII.GetString(value) : Strings.GetString(value);

        var encoding = RequestHeaderEncodingSelector?.Invoke(headerName) ?? Encoding.UTF8;
        return encoding.GetString(value);
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

    /// <summary>Encodings that replace what they cannot decode take any value; those that throw are asked here, not in the application.</summary>
    private static bool CanDecode(Encoding encoding, ReadOnlySpan<byte> value)
    {
        try
        {
            _ = encoding.GetCharCount(value);
            return true;
        }
        catch (DecoderFallbackException)
        {
            return false;
        }
    }
}
