namespace FastCgi.Tool.Commands.Check;

/// <summary>The records received for a request.</summary>
internal sealed class CheckResponse
{
    private readonly ArrayBufferWriter<byte> _output = new();
    private byte[] _body = [];

    public bool IsClosed { get; set; }
    public bool IsSilent { get; set; }
    public (int AppStatus, FastCgiProtocolStatus ProtocolStatus)? End { get; private set; }
    public bool IsOutputEnded { get; private set; }

    /// <summary>Whether there was STDERR, which then must be ended.</summary>
    public bool HasError { get; private set; }
    public bool IsErrorEnded { get; private set; }
    public string[] Flaws { get; set; } = [];
    public int Status => Head?.StatusCode ?? 0;
    public HeaderBlock? Head => field ??= ParseHead();
    public byte[] Body => Head is null ? [] : _body;

    /// <summary>Whether this is a complete CGI response, with any status.</summary>
    public bool IsWhole => End?.ProtocolStatus == FastCgiProtocolStatus.RequestComplete && Head is not null;

    public bool IsRefused(FastCgiProtocolStatus status) => End?.ProtocolStatus == status;

    public string Describe()
    {
        var isBegun = _output.WrittenCount > 0;
        if (IsSilent)
            return isBegun ? "the response does not end" : "no response";
        if (IsClosed)
            return isBegun ? "closed during the response" : "closed without a response";
        if (End is not { } end)
            return "not FastCGI: " + string.Join(", ", Flaws);
        if (end.ProtocolStatus != FastCgiProtocolStatus.RequestComplete)
            return $"{end.ProtocolStatus}";
        return Head is null ? $"no header block, appStatus {end.AppStatus}" : $"{Status}";
    }

    public bool Take(CheckRecord record, List<string> flaws)
    {
        var isEmpty = record.Content.Length == 0;
        switch (record.Type)
        {
            case RecordType.Stdout:
                if (IsOutputEnded)
                    flaws.Add("a STDOUT record after the end of STDOUT");
                IsOutputEnded |= isEmpty;
                _output.Write(record.Content);
                return false;
            case RecordType.Stderr:
                HasError = true;
                if (IsErrorEnded)
                    flaws.Add("a STDERR record after the end of STDERR");
                IsErrorEnded |= isEmpty;
                return false;
            case RecordType.EndRequest when record.Content.Length == ProtocolConstants.FixedBodyLength:
                End = (record.AppStatus, record.ProtocolStatus);
                return true;
            case RecordType.EndRequest:
                flaws.Add($"an END_REQUEST of {record.Content.Length} bytes");
                return true;
            default:
                flaws.Add($"a {RecordNames.Get(record.Type)}");
                return false;
        }
    }

    private HeaderBlock? ParseHead()
    {
        var output = _output.WrittenSpan;
        var from = 0;
        if (HeaderBlock.FindEnd(output, ref from) is not (>= 0 and var end))
            return null;

        try
        {
            _body = output[end..].ToArray();
            return HeaderBlock.Parse(output[..end]);
        }
        catch (FastCgiProtocolException)
        {
            return null;
        }
    }
}
