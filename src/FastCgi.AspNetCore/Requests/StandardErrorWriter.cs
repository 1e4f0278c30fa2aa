namespace FastCgi.AspNetCore.Requests;

/// <summary>
/// Text for the web server's error log: a record per line, so that the web server prefixes each. Any thread may write.
/// </summary>
internal sealed class StandardErrorWriter : TextWriter
{
    // A longer line is split: nginx truncates log lines at 2,048 bytes.
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
    public StandardErrorStaging Staging { get; }

    public override void Write(char value) => Write([value], endsLine: false);

    public override void Write(char[] buffer, int index, int count)
        => Write(buffer.AsSpan(index, count), endsLine: false);

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

    public void EndLine(RequestScope scope)
    {
        if (_line.Length == 0)
            return;

        _output.WriteError(scope, Encoding.GetBytes(_line.Append('\n').ToString()));
        _line.Clear();
    }

    /// <summary>The writer belongs to the request, so disposing it only flushes.</summary>
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

        // Never between the halves of a surrogate pair. Of unpaired first halves, at most one waits for its second.
        if (_line.Length > MaxLineLength || (_line.Length == MaxLineLength && !char.IsHighSurrogate(c)))
            EndLine(scope);
    }
}
