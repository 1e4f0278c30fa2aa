using System.Text.Json;

namespace FastCgi.AspNetCore.Diagnostics;

/// <summary>Describes records in one direction, one per line, without secrets and queries. Not thread-safe.</summary>
internal sealed class RecordDescriber(string connectionId, string direction, Action<string> write)
{
    // Parameters and requests beyond these limits are not decoded.
    private const int MaxPairs = 64 * 1024;
    private const int MaxStreams = 100;
    private const int MaxText = 1_000;
    private const int MaxValue = 200;
    private const int MaxPairsText = 32 * 1024;

    private static readonly string[] s_secrets =
        ["COOKIE", "AUTHORIZATION", "PASSWORD", "PASSWD", "SECRET", "TOKEN", "_KEY", "APIKEY", "CLIENT_CERT",
        "SESSION_ID"];

    private readonly Dictionary<ushort, ArrayBufferWriter<byte>> _params = [];
    private readonly ArrayBufferWriter<byte> _content = new();
    private RecordReader _reader;

    public void Take(ReadOnlySpan<byte> data)
    {
        while (true)
        {
            switch (_reader.Read(ref data, out var piece))
            {
                case RecordReadResult.NeedMore:
                    return;
                case RecordReadResult.UnsupportedVersion:
                    Write($"{data.Length} bytes that are not a FastCGI record");
                    return;
                default:
                    Take(in piece);
                    break;
            }
        }
    }

    private void Take(in RecordPiece piece)
    {
        var isBody = piece.Header.Type is RecordType.Stdin or RecordType.Stdout or RecordType.Data;
        if (piece.IsStart)
            _content.ResetWrittenCount();
        if (!isBody && _content.WrittenCount < MaxPairs)
            _content.Write(piece.Content);
        if (!piece.IsEnd)
            return;

        var header = piece.Header;
        var padding = header.PaddingLength > 0 ? $", {header.PaddingLength} bytes of padding" : string.Empty;
        Write($"{GetName(header.Type)}, request {header.RequestId}, {header.ContentLength} "
            + $"bytes{padding}{Describe(header, _content.WrittenSpan)}");
    }

    private string Describe(RecordHeader header, ReadOnlySpan<byte> content)
    {
        switch (header.Type)
        {
            case RecordType.BeginRequest when content.Length >= 3:
                BeginParams(header.RequestId);
                return $": {(FastCgiRole)((content[0] << 8) | content[1])}, "
                    + $"{((content[2] & 1) != 0 ? "keeps the connection" : "closes the connection")}";
            case RecordType.EndRequest when content.Length >= 5:
                return $": protocol status {content[4]}, application status "
                    + $"{(content[0] << 24) | (content[1] << 16) | (content[2] << 8) | content[3]}";
            case RecordType.AbortRequest:
                _params.Remove(header.RequestId);
                return string.Empty;
            case RecordType.Params:
                return DescribeParams(header.RequestId, content);
            case RecordType.GetValues or RecordType.GetValuesResult:
                return ": " + DescribePairs(content);
            case RecordType.Stderr when !content.IsEmpty:
                return ": " + LogText.Clean(Encoding.UTF8.GetString(content[..Math.Min(content.Length, MaxText)]));
            default:
                return header.ContentLength == 0
                    && header.Type is RecordType.Stdin or RecordType.Stdout or RecordType.Data
                    ? ": the end"
                    : string.Empty;
        }
    }

    /// <summary>Drops the rest of a previous request with the same id.</summary>
    private void BeginParams(ushort id)
    {
        if (_params.Remove(id) || _params.Count < MaxStreams)
            _params.Add(id, new ArrayBufferWriter<byte>());
    }

    /// <summary>Describes only complete streams: in a fragment, a name cannot be distinguished from a secret.</summary>
    private string DescribeParams(ushort id, ReadOnlySpan<byte> content)
    {
        if (content.IsEmpty && _params.Remove(id, out var whole))
            return ": the end: " + (whole.WrittenCount > 0 ? DescribePairs(whole.WrittenSpan) : "none");
        if (content.IsEmpty)
            return ": the end: not described";

        if (_params.TryGetValue(id, out var stream) && stream.WrittenCount < MaxPairs)
            stream.Write(content);
        return string.Empty;
    }

    private static string DescribePairs(ReadOnlySpan<byte> content)
    {
        var text = new StringBuilder();
        var reader = new NameValuePairReader(content);
        while (text.Length < MaxPairsText && reader.TryRead(out var name, out var value))
        {
            var nameText = Encoding.UTF8.GetString(name);
            text.Append(text.Length > 0 ? ", " : string.Empty).Append(LogText.Clean(nameText, MaxValue)).Append('=')
                .Append(Mask(nameText, value));
        }

        if (text.Length >= MaxPairsText)
            text.Append(", possibly more");
        else if (reader.IsMalformed)
            text.Append(", and an incomplete pair");
        return text.ToString();
    }

    private static string Mask(string name, ReadOnlySpan<byte> value)
    {
        if (value.IsEmpty)
            return string.Empty;
        if (s_secrets.Any(secret => name.Contains(secret, StringComparison.OrdinalIgnoreCase))
            || name.EndsWith("QUERY_STRING", StringComparison.OrdinalIgnoreCase))
            return Hidden(value.Length);

        var text = LogText.Clean(Encoding.UTF8.GetString(value[..Math.Min(value.Length, MaxValue)]));
        // A query may contain a secret, in the target and in Referer.
        var query = text.IndexOf('?', StringComparison.Ordinal);
        if (query >= 0)
            return text[..(query + 1)] + Hidden(value.Length - query - 1);

        return value.Length > MaxValue ? text + "…" : text;
    }

    private static string Hidden(int length) => string.Create(CultureInfo.InvariantCulture, $"({length} bytes hidden)");

    private static string GetName(RecordType type) => Enum.IsDefined(type)
        ? JsonNamingPolicy.SnakeCaseUpper.ConvertName(type.ToString())
        : string.Create(CultureInfo.InvariantCulture, $"type {(int)type}");

    private void Write(string text) => write($"Connection id \"{connectionId}\": {direction} {text}");
}
