namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>The response to a request, as far as it was sent.</summary>
internal sealed class SentAnswer
{
    public List<byte> Stdout { get; } = [];

    public bool IsStdoutOver { get; set; }

    /// <summary>How often END_REQUEST has come.</summary>
    public int Ends { get; set; }

    public uint AppStatus { get; set; }

    public bool IsOver => Ends > 0;
}

/// <summary>The records that a connection has sent, in an order that a web server understands.</summary>
internal sealed class SentRecords
{
    private readonly Dictionary<int, SentAnswer> _answers = [];

    /// <summary>Whether ids are used for several requests.</summary>
    public bool ReusesIds { get; init; }

    /// <summary>The responses by request id.</summary>
    public IReadOnlyDictionary<int, SentAnswer> Answers => _answers;

    public int ValuesResults { get; private set; }

    public int UnknownTypes { get; private set; }

    /// <summary>Whether the answer to a client that speaks HTTP came.</summary>
    public bool IsHttp { get; private set; }

    /// <summary>Whether the bytes came that HAProxy gets instead of a reset.</summary>
    public bool IsAborted { get; private set; }

    /// <summary>Whether the last record is incomplete.</summary>
    public bool IsCut { get; private set; }

    /// <summary>The kinds of the last three records, for the feedback of a fuzzer.</summary>
    public ulong Shape { get; private set; }

    /// <summary>The responses on a connection, which may be cut.</summary>
    public static IReadOnlyDictionary<int, SentAnswer> Read(ReadOnlySpan<byte> sent)
    {
        var records = new SentRecords();
        Assert.Null(records.Parse(sent));
        Assert.False(records.IsAborted || records.IsHttp);
        return records.Answers;
    }

    /// <summary>Reads everything that was sent.</summary>
    /// <returns>The first error; <see langword="null"/> if there is none.</returns>
    public string? Parse(ReadOnlySpan<byte> sent)
    {
        _answers.Clear();
        (ValuesResults, UnknownTypes, IsHttp, IsAborted, IsCut, Shape) = (0, 0, false, false, false, 1);
        while (!sent.IsEmpty)
        {
            if (sent.StartsWith("HTTP/1.1 400 "u8))
            {
                IsHttp = true;
                return sent.EndsWith("\n"u8) ? null : "The answer to an HTTP client is cut.";
            }

            if (IsAborted)
                return "Something was sent after the end.";
            IsAborted = sent.StartsWith(RecordBytes.Cut);
            if (IsAborted)
            {
                sent = sent[RecordBytes.Cut.Length..];
                continue;
            }

            if (sent[0] != 1)
                return "Something else than a record was sent.";
            IsCut = sent.Length < 8;
            if (IsCut)
                return null;
            var content = sent[8..];
            var length = BinaryPrimitives.ReadUInt16BigEndian(sent[4..]);
            IsCut = content.Length < length + sent[6];
            var id = BinaryPrimitives.ReadUInt16BigEndian(sent[2..]);
            if (ParseRecord(sent[1], id, content[..Math.Min(length, content.Length)]) is { } error)
                return error;
            sent = content[Math.Min(length + sent[6], content.Length)..];
        }

        return null;
    }

    private string? ParseRecord(byte type, int id, ReadOnlySpan<byte> content)
    {
        var detail = type == RecordBytes.EndRequest && content.Length == 8
            ? content[4] + (16 * content[3])
            : Math.Min(content.Length, 1);
        Shape = ((Shape & 0xF_FFFF) << 10) | (((type * 64UL) + (ulong)detail) & 0x3FF);
        switch (type)
        {
            case RecordBytes.EndRequest or RecordBytes.Stdout or RecordBytes.Stderr when id != 0:
                if (!_answers.TryGetValue(id, out var answer))
                    _answers.Add(id, answer = new SentAnswer());
                return ParseAnswer(type, answer, content);
            case RecordBytes.GetValuesResult when id == 0:
                ValuesResults++;
                return null;
            case RecordBytes.UnknownType when id == 0 && (content.Length == 8 || IsCut):
                UnknownTypes++;
                return null;
            default:
                return $"A record of type {type} for request {id} with {content.Length} bytes was sent.";
        }
    }

    private string? ParseAnswer(byte type, SentAnswer answer, ReadOnlySpan<byte> content)
    {
        if (answer.IsOver && !ReusesIds)
            return $"A record of type {type} came after END_REQUEST.";
        if (type == RecordBytes.EndRequest)
        {
            if (content.Length != 8)
                return IsCut ? null : "END_REQUEST has a wrong length.";
            answer.Ends++;
            answer.IsStdoutOver = false;
            answer.AppStatus = BinaryPrimitives.ReadUInt32BigEndian(content);
        }
        else if (type == RecordBytes.Stdout)
        {
            if (answer.IsStdoutOver)
                return "STDOUT continued after its end.";
            answer.IsStdoutOver = content.IsEmpty && !IsCut;
            answer.Stdout.AddRange(content);
        }

        return null;
    }
}
