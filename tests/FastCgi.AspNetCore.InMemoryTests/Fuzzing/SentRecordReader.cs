namespace FastCgi.AspNetCore.InMemoryTests.Fuzzing;

/// <summary>
/// Reads what a connection has sent, and fails unless it consists of whole records in an order that a web server
/// understands.
/// </summary>
internal sealed class SentRecordReader
{
    private readonly HashSet<int> _ids = [];
    private readonly HashSet<int> _finished = [];

    /// <summary>How often END_REQUEST came for each id.</summary>
    public int[] Ends { get; } = new int[65_536];

    public IReadOnlyCollection<int> Ids => _ids;

    public int ValuesResults { get; private set; }

    public int UnknownTypes { get; private set; }

    /// <summary>Whether the answer to a client that speaks HTTP came.</summary>
    public bool IsHttp { get; private set; }

    /// <summary>The kinds of the last three records, for the feedback.</summary>
    public ulong Shape { get; private set; }

    /// <summary>Whether ABORT_REQUEST came, which HAProxy gets instead of a reset.</summary>
    public bool IsAborted { get; private set; }

    public string? Read(ReadOnlySpan<byte> sent)
    {
        foreach (var id in _ids)
            Ends[id] = 0;
        _ids.Clear();
        _finished.Clear();
        (ValuesResults, UnknownTypes, IsHttp, IsAborted, Shape) = (0, 0, false, false, 1);
        while (!sent.IsEmpty)
        {
            if (sent.StartsWith("HTTP/1.1 400 "u8) && !IsHttp)
            {
                IsHttp = true;
                return sent.EndsWith("\n"u8) ? null : "The answer to an HTTP client is cut.";
            }

            if (sent.Length < 8 || sent[0] != 1)
                return "No record was sent.";
            var length = BinaryPrimitives.ReadUInt16BigEndian(sent[4..]);
            if (8 + length + sent[6] > sent.Length)
                return "A record is cut.";
            if (ReadRecord(
                sent[1], BinaryPrimitives.ReadUInt16BigEndian(sent[2..]), sent.Slice(8, length)) is { } wrong)
                return wrong;
            sent = sent[(8 + length + sent[6])..];
        }

        return null;
    }

    private string? ReadRecord(byte type, int id, ReadOnlySpan<byte> content)
    {
        var detail = type == 3 && content.Length == 8 ? content[4] + (16 * content[3]) : Math.Min(content.Length, 1);
        Shape = ((Shape & 0xF_FFFF) << 10) | (((type * 64UL) + (ulong)detail) & 0x3FF);
        switch (type)
        {
            case 2 when id != 0 && content.IsEmpty:
                IsAborted = true;
                return null;
            case 3 when id != 0 && content.Length == 8:
                _ids.Add(id);
                Ends[id]++;
                _finished.Remove(id);
                return null;
            case 6 when id != 0 && content.IsEmpty:
                return _finished.Add(id) ? null : "STDOUT was ended twice.";
            case 6 when id != 0:
                return _finished.Contains(id) ? "STDOUT went on behind its end." : null;
            case 7 when id != 0:
                return null;
            case 10 when id == 0:
                ValuesResults++;
                return null;
            case 11 when id == 0 && content.Length == 8:
                UnknownTypes++;
                return null;
            default:
                return $"A record of type {type} for request {id} with {content.Length} bytes was sent.";
        }
    }
}
