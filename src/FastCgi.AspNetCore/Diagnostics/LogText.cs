namespace FastCgi.AspNetCore.Diagnostics;

/// <summary>Text of a client or a web server, for a log, a page or a label.</summary>
internal static class LogText
{
    /// <summary>The most characters of a web server's name.</summary>
    public const int MaxWebServerLength = 100;

    /// <summary>Makes it one line of bounded length: control characters, and those that change the direction, could forge others.</summary>
    /// <param name="text">The text.</param>
    /// <param name="maxLength">The most characters of it; what is longer ends with an ellipsis.</param>
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

    // Line and paragraph separators; marks, embeddings, overrides and isolates of direction.
    private static bool IsHarmless(char c) => !char.IsControl(c) && c is not ('\u061C' or (>= '\u200E' and <= '\u200F') or (>= '\u2028' and <= '\u202E') or (>= '\u2066' and <= '\u2069'));
}
