using System.Runtime.InteropServices;
using System.Text;

namespace FastCgi.Tool.Terminal;

/// <summary>
/// A picture that is drawn again and again in the same place. On a terminal it has the alternate screen, so that what stood there before
/// comes back at the end; elsewhere each picture follows the one before.
/// </summary>
internal sealed class LiveScreen : IDisposable
{
    private const string Enter = "\e[?1049h\e[?25l";
    private const string Leave = "\e[?25h\e[?1049l";

    private readonly ToolConsole _console;
    private readonly Lock _lock = new();
    private readonly PosixSignalRegistration? _resized;
    private Func<int, int, IReadOnlyList<string>>? _draw;
    private bool _isOver;

    public LiveScreen(ToolConsole console)
    {
        _console = console;
        if (!console.IsTerminal)
            return;

        console.Out.Write(Enter);
        if (!OperatingSystem.IsWindows())
            _resized = PosixSignalRegistration.Create(PosixSignal.SIGWINCH, _ => Draw());
    }

    /// <summary>Shows a picture, and again when the terminal has another size.</summary>
    /// <param name="draw">Gives the lines for so many columns and lines.</param>
    public void Show(Func<int, int, IReadOnlyList<string>> draw)
    {
        lock (_lock)
            _draw = draw;
        Draw();
    }

    /// <summary>Gives the terminal back as it was.</summary>
    public void Dispose()
    {
        _resized?.Dispose();
        lock (_lock)
        {
            if (_console.IsTerminal && !_isOver)
                _console.Out.Write(Leave);
            _isOver = true;
        }
    }

    private void Draw()
    {
        lock (_lock)
        {
            if (_isOver || _draw is null)
                return;

            var text = new StringBuilder(_console.IsTerminal ? "\e[H" : "");
            // A line is erased before it is written: behind one that ends at the margin, its last character would go.
            foreach (var line in _draw(_console.Width, _console.Height))
                text.Append(_console.IsTerminal ? "\e[2K" : "").Append(line).Append('\n');
            if (_console.IsTerminal)
                text.Append("\e[J");
            // At once, so that nobody sees half a picture.
            _console.Out.Write(text.ToString());
            _console.Out.Flush();
        }
    }
}
