using System.Globalization;
using System.Text;

namespace FastCgi.AspNetCore.Responses;

/// <summary>
/// Text for the web server's error log: a record for each line, so that the web server puts its own prefix before each. Guarded by
/// the monitor of the response's output, for errors are logged from any thread.
/// </summary>
internal sealed class StandardErrorWriter : TextWriter
{
    // A longer line becomes several: nginx cuts what it logs at 2,048 bytes.
    private const int MaxLineLength = 2_000;

    private readonly ResponseOutput _output;
    private readonly StringBuilder _line = new();
    private bool _isOver;

    private StandardErrorWriter(ResponseOutput output)
        : base(CultureInfo.InvariantCulture)
    {
        _output = output;
        CoreNewLine = ['\n'];
    }

    public override Encoding Encoding => Encoding.UTF8;

    public static StandardErrorWriter Open(ResponseOutput output) => new(output);

    public override void Write(char value) => Write([value], endsLine: false);

    public override void Write(char[] buffer, int index, int count) => Write(buffer.AsSpan(index, count), endsLine: false);

    public override void Write(string? value) => Write(value, endsLine: false);

    public override void Write(ReadOnlySpan<char> buffer) => Write(buffer, endsLine: false);

    public override void WriteLine(string? value) => Write(value, endsLine: true);

    public override void WriteLine(ReadOnlySpan<char> buffer) => Write(buffer, endsLine: true);

    public override void Flush()
    {
        lock (_output)
        {
            if (_isOver)
                return;
            EndLine();
        }

        _output.SendErrors();
    }

    /// <summary>Ends a line that is not complete. Call it under the monitor of the output.</summary>
    public void EndLine()
    {
        if (_line.Length == 0)
            return;

        _output.WriteError(Encoding.GetBytes(_line.Append('\n').ToString()));
        _line.Clear();
    }

    /// <summary>
    /// The request is over: what still holds on to the writer gets an <see cref="ObjectDisposedException"/>. Call it under the monitor
    /// of the output.
    /// </summary>
    public void End() => _isOver = true;

    /// <summary>The writer belongs to the request: disposing it only sends what is there.</summary>
    protected override void Dispose(bool disposing)
    {
        Flush();
        base.Dispose(disposing);
    }

    private void Write(ReadOnlySpan<char> text, bool endsLine)
    {
        lock (_output)
        {
            ObjectDisposedException.ThrowIf(_isOver, typeof(IFastCgiRequestFeature));
            foreach (var c in text)
                Append(c);
            if (endsLine)
                EndLine();
        }

        _output.SendErrors();
    }

    private void Append(char c)
    {
        if (c == '\n')
            EndLine();
        else if (char.IsControl(c) && c != '\t')
            _line.Append(CultureInfo.InvariantCulture, $"\\x{(int)c:X2}");
        else
            _line.Append(c);

        // Not between the halves of a surrogate pair.
        if (_line.Length >= MaxLineLength && !char.IsHighSurrogate(c))
            EndLine();
    }
}
