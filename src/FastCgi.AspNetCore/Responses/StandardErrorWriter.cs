using System.Globalization;
using System.Text;

namespace FastCgi.AspNetCore.Responses;

/// <summary>Text for the web server's error log: a record for each line, so that the web server puts its own prefix before each.</summary>
internal sealed class StandardErrorWriter : TextWriter
{
    // A longer line becomes several: nginx cuts what it logs at 2,048 bytes.
    private const int MaxLineLength = 2_000;

    private readonly StandardError _output;
    private readonly StringBuilder _line = new();
    private readonly Lock _lineLock = new();
    private bool _isOver;

    public StandardErrorWriter(StandardError output)
        : base(CultureInfo.InvariantCulture)
    {
        _output = output;
        CoreNewLine = ['\n'];
    }

    public override Encoding Encoding => Encoding.UTF8;

    public override void Write(char value) => Write([value]);

    public override void Write(char[] buffer, int index, int count) => Write(buffer.AsSpan(index, count));

    public override void Write(string? value) => Write(value.AsSpan());

    public override void Write(ReadOnlySpan<char> buffer)
    {
        lock (_lineLock)
        {
            ObjectDisposedException.ThrowIf(_isOver, typeof(IFastCgiRequestFeature));
            foreach (var c in buffer)
                Append(c);
        }
    }

    public override void WriteLine(string? value) => WriteLine(value.AsSpan());

    public override void WriteLine(ReadOnlySpan<char> buffer)
    {
        lock (_lineLock)
        {
            Write(buffer);
            Append('\n');
        }
    }

    public override void Flush()
    {
        lock (_lineLock)
            EndLine();
    }

    /// <summary>The writer belongs to the request: disposing it only sends what is there.</summary>
    protected override void Dispose(bool disposing)
    {
        Flush();
        base.Dispose(disposing);
    }

    /// <summary>The request is over: what still holds on to the writer gets an <see cref="ObjectDisposedException"/>.</summary>
    public void End()
    {
        lock (_lineLock)
            _isOver = true;
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

    private void EndLine()
    {
        if (_line.Length == 0)
            return;

        _output.Write(Encoding.GetBytes(_line.Append('\n').ToString()));
        _line.Clear();
    }
}
