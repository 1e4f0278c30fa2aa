namespace FastCgi.Tool.Terminal;

/// <summary>
/// Texts of others, for a terminal: what an application, a client or a file says must not move the cursor, colour, or write the title of the window.
/// </summary>
internal static class PlainText
{
    /// <summary>Several lines: control codes but line ends and tabs become question marks.</summary>
    public static string Lines(string text)
        => string.Concat(text.ReplaceLineEndings("\n").Select(static letter => char.IsControl(letter) && letter is not ('\n' or '\t') ? '?' : letter));

    /// <summary>One line: all control codes become spaces.</summary>
    public static string Line(string text) => string.Concat(text.Select(static letter => char.IsControl(letter) ? ' ' : letter));
}
