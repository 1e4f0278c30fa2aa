namespace FastCgi.Tool.Terminal;

/// <summary>Rows in columns as wide as their texts; the last one is wrapped where the terminal ends.</summary>
internal sealed class TextTable(params string[] headings)
{
    private const int Gap = 2;
    private const int LeastWrapped = 30;

    private readonly List<(string[] Cells, Func<string, string>? ColourOfFirst)> _rows = [];

    /// <param name="cells">A text for each column.</param>
    /// <param name="colourOfFirst">Colours the first cell when its width is known.</param>
    public void Add(string[] cells, Func<string, string>? colourOfFirst = null) => _rows.Add(([.. cells.Select(PlainText.Line)], colourOfFirst));

    public void Write(TextWriter writer, int width)
    {
        var widths = headings.Select((heading, i) => _rows.Select(row => row.Cells[i].Length).Append(heading.Length).Max()).ToArray();
        var indent = widths.SkipLast(1).Sum(static columnWidth => columnWidth + Gap);
        var last = Math.Max(width - indent, LeastWrapped);
        foreach (var (cells, colour) in _rows.Prepend((headings, null)))
        {
            var line = new StringBuilder();
            for (var i = 0; i < cells.Length - 1; i++)
            {
                var cell = cells[i].PadRight(widths[i] + Gap);
                line.Append(i == 0 && colour is not null ? colour(cell) : cell);
            }

            var isFirst = true;
            foreach (var part in Wrap(cells[^1], last))
            {
                writer.WriteLine(isFirst ? (line + part).TrimEnd() : new string(' ', indent) + part);
                isFirst = false;
            }
        }
    }

    /// <summary>Breaks a text between words into lines.</summary>
    public static IEnumerable<string> Wrap(string text, int width)
    {
        while (text.Length > width)
        {
            var space = text.LastIndexOf(' ', width);
            var end = space > 0 ? space : width;
            yield return text[..end];
            text = text[end..].TrimStart();
        }

        yield return text;
    }
}
