using System.Runtime.InteropServices;

namespace FastCgi.Tool.Terminal;

/// <summary>Draws pictures in the same place: on the alternate screen of a terminal. Elsewhere they follow each other.</summary>
internal sealed class LiveScreen : IDisposable
{
    private const string Enter = "\e[?1049h\e[?25l";
    private const string Leave = "\e[?25h\e[?1049l";

    private readonly ToolConsole _console;
    private readonly Lock _lock = new();
    private readonly PosixSignalRegistration? _resized;
    private Func<int, int, IReadOnlyList<string>>? _draw;

    public LiveScreen(ToolConsole console)
    {
        _console = console;
        if (console.IsTerminal && !OperatingSystem.IsWindows())
            _resized = PosixSignalRegistration.Create(PosixSignal.SIGWINCH, _ => Draw());
    }

    /// <summary>Shows a picture, and again when the terminal has another size.</summary>
    public void Show(Func<int, int, IReadOnlyList<string>> draw)
    {
        lock (_lock)
        {
            if (_draw is null && _console.IsTerminal)
                _console.Out.Write(Enter);
            _draw = draw;
        }

        Draw();
    }

    public void Dispose()
    {
        _resized?.Dispose();
        lock (_lock)
        {
            if (_draw is not null && _console.IsTerminal)
                _console.Out.Write(Leave);
            _draw = null;
        }
    }

    private void Draw()
    {
        lock (_lock)
        {
            if (_draw is null)
                return;

            var text = new StringBuilder(_console.IsTerminal ? "\e[H" : "");
            // Erase before writing: after a line that ends at the margin, the last character would be erased.
            foreach (var line in _draw(_console.Width, _console.Height))
                text.Append(_console.IsTerminal ? "\e[2K" : "").Append(line).Append('\n');
            if (_console.IsTerminal)
                text.Append("\e[J");
            // In one write, so that nobody sees half a picture.
            _console.Out.Write(text.ToString());
        }
    }
}
