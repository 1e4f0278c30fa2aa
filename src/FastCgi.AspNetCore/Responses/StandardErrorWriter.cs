using System.Globalization;
using System.Text;

namespace FastCgi.AspNetCore.Responses;

/// <summary>
/// Text for the web server's error log: a record for each line, so that the web server puts its own prefix before each. Guarded by
/// the lock of the response, because errors are logged from any thread.
/// </summary>
internal sealed class StandardErrorWriter : TextWriter
{
    // A longer line becomes several: nginx cuts what it logs at 2,048 bytes.
    private const int MaxLineLength = 2_000;

    private readonly ResponseOutput _output;
    private readonly StringBuilder _line = new();
    private readonly int _generation;
    private bool _isOver;

    private StandardErrorWriter(ResponseOutput output, StandardErrorStaging staging)
        : base(CultureInfo.InvariantCulture)
    {
        _output = output;
        Staging = staging;
        _generation = output.Generation;
        CoreNewLine = ['\n'];
    }

    public override Encoding Encoding => Encoding.UTF8;

    /// <summary>The records that were written and are not queued.</summary>
    public StandardErrorStaging Staging { get; }

    public static StandardErrorWriter Open(ResponseOutput output, StandardErrorStaging staging) => new(output, staging);

    public override void Write(char value) => Write([value], endsLine: false);

    public override void Write(char[] buffer, int index, int count) => Write(buffer.AsSpan(index, count), endsLine: false);

    public override void Write(string? value) => Write(value, endsLine: false);

    public override void Write(ReadOnlySpan<char> buffer) => Write(buffer, endsLine: false);

    public override void WriteLine(string? value) => Write(value, endsLine: true);

    public override void WriteLine(ReadOnlySpan<char> buffer) => Write(buffer, endsLine: true);

    public override void Flush()
    {
        using (_output.EnterLock())
        {
            if (_isOver)
                return;
            EndLine();
        }

        _output.SendErrors(_generation);
    }

    /// <summary>Ends a line that is not complete. With the lock of the response held.</summary>
    public void EndLine()
    {
        if (_line.Length == 0)
            return;

        _output.WriteError(Encoding.GetBytes(_line.Append('\n').ToString()));
        _line.Clear();
    }

    /// <summary>
    /// The request is over: what still holds on to the writer gets an <see cref="ObjectDisposedException"/>. With the lock of
    /// the response held.
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
        using (_output.EnterLock())
        {
            ObjectDisposedException.ThrowIf(_isOver, typeof(IFastCgiRequestFeature));
            foreach (var c in text)
                Append(c);
            if (endsLine)
                EndLine();
        }

        _output.SendErrors(_generation);
    }

    private void Append(char c)
    {
        if (c == '\n')
            EndLine();
        else if (char.IsControl(c) && c != '\t')
            _line.Append(CultureInfo.InvariantCulture, $"\\x{(int)c:X2}");
        else
            _line.Append(c);

        // Not between the halves of a surrogate pair; of first halves alone, no more than one waits for its second.
        if (_line.Length > MaxLineLength || (_line.Length == MaxLineLength && !char.IsHighSurrogate(c)))
            EndLine();
    }
}
