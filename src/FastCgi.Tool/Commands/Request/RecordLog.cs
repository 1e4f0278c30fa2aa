using System.Collections.Concurrent;

namespace FastCgi.Tool.Commands.Request;

/// <summary>Writes a line for each record, without its content, which may be secret.</summary>
internal sealed class RecordLog(Action<string>? write) : RecordTrace
{
    private readonly Stopwatch _watch = Stopwatch.StartNew();
    private readonly ConcurrentQueue<string> _lines = new();

    public IReadOnlyList<string> Lines => [.. _lines];

    public override void OnRecord(int connection, bool isSent, RecordHeader header, ReadOnlySpan<byte> content)
    {
        var padding = header.PaddingLength == 0 ? "" : $" + {header.PaddingLength} of padding";
        var line = Invariant(
            $"{(isSent ? '>' : '<')} {_watch.Elapsed.TotalMilliseconds,8:0.0} ms  {RecordNames.Get(header.Type),-17} ")
            + $"id {header.RequestId}  {header.ContentLength} bytes{padding}";
        if (write is not null)
            write(line);
        else if (_lines.Count < 10_000)
            _lines.Enqueue(line);
    }
}

internal static class RecordNames
{
    public static string Get(RecordType type) => Enum.IsDefined(type)
        ? JsonNamingPolicy.SnakeCaseUpper.ConvertName($"{type}")
        : $"type {(int)type}";
}
