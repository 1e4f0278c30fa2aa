using System.Buffers;
using System.Buffers.Binary;
using System.Text;
using FastCgi.AspNetCore.Protocol;

namespace FastCgi.Tool.Commands.Replay;

/// <summary>Understands both directions of one connection: which requests there were, and what was answered to each.</summary>
internal sealed class Conversation
{
    private readonly List<RecordedAnswer> _answers = [];
    private readonly Dictionary<ushort, RecordedAnswer> _active = [];
    private readonly ArrayBufferWriter<byte> _endRequest = new();
    private RecordReader _fromWeb;
    private RecordReader _fromApplication;

    /// <summary>In the order of their BEGIN_REQUEST.</summary>
    public IReadOnlyList<RecordedAnswer> Answers => _answers;

    /// <summary>How many requests have ended.</summary>
    public int Ended { get; private set; }

    /// <summary>Why the application's bytes cannot be read any further.</summary>
    public string? Problem { get; private set; }

    public void TakeFromWeb(ReadOnlySpan<byte> bytes)
    {
        while (_fromWeb.Read(ref bytes, out var piece) == RecordReadResult.Piece)
        {
            if (piece is { IsStart: true, Header.Type: RecordType.BeginRequest })
                _answers.Add(_active[piece.Header.RequestId] = new RecordedAnswer());
            else if (piece.Header.Type == RecordType.Params && _active.TryGetValue(piece.Header.RequestId, out var answer))
                answer.Parameters.Write(piece.Content);
        }
    }

    public void TakeFromApplication(ReadOnlySpan<byte> bytes)
    {
        while (Problem is null)
        {
            var result = _fromApplication.Read(ref bytes, out var piece);
            if (result == RecordReadResult.NeedMore)
                return;

            if (result == RecordReadResult.UnsupportedVersion)
                Problem = $"a record of version {bytes[0]}";
            else if (_active.TryGetValue(piece.Header.RequestId, out var answer))
                Take(answer, piece);
        }
    }

    private void Take(RecordedAnswer answer, RecordPiece piece)
    {
        switch (piece.Header.Type)
        {
            case RecordType.Stdout:
                answer.Output.Write(piece.Content);
                break;
            case RecordType.Stderr:
                answer.StandardError.Write(piece.Content);
                break;
            case RecordType.EndRequest:
                if (piece.IsStart)
                    _endRequest.ResetWrittenCount();
                _endRequest.Write(piece.Content);
                if (!piece.IsEnd)
                    return;

                var body = _endRequest.WrittenSpan;
                answer.End = body.Length >= 5 ? (BinaryPrimitives.ReadInt32BigEndian(body), body[4]) : (0, 0);
                _active.Remove(piece.Header.RequestId);
                Ended++;
                break;
        }
    }
}

/// <summary>One request's answer, as far as it came.</summary>
internal sealed class RecordedAnswer
{
    public ArrayBufferWriter<byte> Parameters { get; } = new();

    public ArrayBufferWriter<byte> Output { get; } = new();

    public ArrayBufferWriter<byte> StandardError { get; } = new();

    public (int AppStatus, int ProtocolStatus)? End { get; set; }

    /// <summary>Method and target.</summary>
    public string Name
    {
        get
        {
            var (method, uri) = ("?", "?");
            var pairs = new NameValuePairReader(Parameters.WrittenSpan);
            while (pairs.TryRead(out var name, out var value))
            {
                if (name.SequenceEqual("REQUEST_METHOD"u8))
                    method = Encoding.UTF8.GetString(value);
                else if (name.SequenceEqual("REQUEST_URI"u8))
                    uri = Encoding.UTF8.GetString(value);
            }

            return $"{method} {uri}";
        }
    }
}
