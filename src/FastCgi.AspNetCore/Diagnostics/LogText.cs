namespace FastCgi.AspNetCore.Diagnostics;

/// <summary>Sanitizes text of a client or a web server for a log, page or label.</summary>
internal static class LogText
{
    /// <summary>Replaces control characters, which could forge lines, and changes of the text direction.</summary>
    public static string Clean(string text, int maxLength = int.MaxValue)
    {
        var length = Math.Min(text.Length, maxLength);
        var isCut = length < text.Length;
        if (isCut && length > 0 && char.IsHighSurrogate(text[length - 1]))
            length--;
        if (!isCut && !text.AsSpan().ContainsAnyExceptInRange(' ', '~'))
            return text;

        return string.Create(isCut ? length + 1 : length, (text, length), static (clean, state) =>
        {
            for (var i = 0; i < state.length; i++)
                clean[i] = IsHarmless(state.text[i]) ? state.text[i] : ' ';
            if (clean.Length > state.length)
                clean[^1] = '…';
        });
    }

    // Excludes line and paragraph separators; marks, embeddings, overrides and isolates of direction.
    private static bool IsHarmless(char c) => !char.IsControl(c)
        && c is not ('\u061C'
            or (>= '\u200E' and <= '\u200F')
            or (>= '\u2028' and <= '\u202E')
            or (>= '\u2066' and <= '\u2069'));
}
