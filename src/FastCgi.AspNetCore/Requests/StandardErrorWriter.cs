using System.Globalization;
using System.Text;

namespace FastCgi.AspNetCore.Requests;

/// <summary>
/// Text for the web server's error log: a record for each line, so that the web server puts its own prefix before each. Any thread may write,
/// because errors are logged from any thread.
/// </summary>
internal sealed class StandardErrorWriter : TextWriter
{
    // A longer line becomes several: nginx cuts what it logs at 2,048 bytes.
    private const int MaxLineLength = 2_000;

    private readonly ResponseOutput _output;
    private readonly StringBuilder _line = new();

    public StandardErrorWriter(ResponseOutput output, StandardErrorStaging staging)
        : base(CultureInfo.InvariantCulture)
    {
        _output = output;
        Staging = staging;
        CoreNewLine = ['\n'];
    }

    public override Encoding Encoding => Encoding.UTF8;

    /// <summary>The records that were written and are not queued.</summary>
    public StandardErrorStaging Staging { get; }

    public override void Write(char value) => Write([value], endsLine: false);

    public override void Write(char[] buffer, int index, int count) => Write(buffer.AsSpan(index, count), endsLine: false);

    public override void Write(string? value) => Write(value, endsLine: false);

    public override void Write(ReadOnlySpan<char> buffer) => Write(buffer, endsLine: false);

    public override void WriteLine(string? value) => Write(value, endsLine: true);

    public override void WriteLine(ReadOnlySpan<char> buffer) => Write(buffer, endsLine: true);

    public override void Flush()
    {
        using (var scope = _output.EnterLock())
            EndLine(scope);
        _output.SendErrors();
    }

    /// <summary>Ends a line that is not complete.</summary>
    public void EndLine(RequestScope scope)
    {
        if (_line.Length == 0)
            return;

        _output.WriteError(scope, Encoding.GetBytes(_line.Append('\n').ToString()));
        _line.Clear();
    }

    /// <summary>The writer belongs to the request: disposing it only sends what is there.</summary>
    protected override void Dispose(bool disposing)
    {
        Flush();
        base.Dispose(disposing);
    }

    private void Write(ReadOnlySpan<char> text, bool endsLine)
    {
        using (var scope = _output.EnterLock())
        {
            _output.ThrowIfOver(typeof(IFastCgiRequestFeature));
            foreach (var c in text)
                Append(scope, c);
            if (endsLine)
                EndLine(scope);
        }

        _output.SendErrors();
    }

    private void Append(RequestScope scope, char c)
    {
        if (c == '\n')
            EndLine(scope);
        else if (char.IsControl(c) && c != '\t')
            _line.Append(CultureInfo.InvariantCulture, $"\\x{(int)c:X2}");
        else
            _line.Append(c);

        // Not between the halves of a surrogate pair; of first halves alone, no more than one waits for its second.
        if (_line.Length > MaxLineLength || (_line.Length == MaxLineLength && !char.IsHighSurrogate(c)))
            EndLine(scope);
    }
}
