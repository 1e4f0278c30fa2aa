namespace FastCgi.Tool.Terminal;

/// <summary>Draws on the alternate screen of a terminal.</summary>
internal sealed class LiveScreen(ToolConsole console) : IDisposable
{
    private const string Enter = "\e[?1049h\e[?25l";
    private const string Leave = "\e[?25h\e[?1049l";

    private bool _isEntered;

    public void Show(IReadOnlyList<string> lines)
    {
        var text = new StringBuilder(_isEntered ? "" : Enter).Append("\e[H");
        _isEntered = true;
        // Erases before writing, because erasing after a line that ends at the margin removes its last character.
        foreach (var line in lines)
            text.Append("\e[2K").Append(line).Append('\n');
        // In one write, to avoid flicker.
        console.Out.Write(text.Append("\e[J").ToString());
    }

    public void Dispose()
    {
        if (_isEntered)
            console.Out.Write(Leave);
    }
}
