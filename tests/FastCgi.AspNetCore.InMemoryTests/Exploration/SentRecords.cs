namespace FastCgi.AspNetCore.InMemoryTests.Exploration;

/// <summary>
/// Checks what a connection has sent: whole records, each request ended once, each with its own body.
/// </summary>
internal static class SentRecords
{
    public static void Check(VirtualConnection connection, HandlerScript[] scripts, OutsideEvent outside)
    {
        var bodies = new string[scripts.Length];
        var ends = new int[scripts.Length];
        var statuses = new uint[scripts.Length];
        Array.Fill(bodies, "");
        var rest = connection.Sent.ToArray().AsSpan();
        while (rest.Length >= 8)
        {
            var length = 8 + BinaryPrimitives.ReadUInt16BigEndian(rest[4..]) + rest[6];
            if (rest[0] != 1 || length > rest.Length)
                break;

            var id = BinaryPrimitives.ReadUInt16BigEndian(rest[2..]);
            var content = rest[8..(length - rest[6])];
            switch (rest[1])
            {
                case RecordBytes.Stdout when ends[id - 1] == 0:
                    bodies[id - 1] += Encoding.ASCII.GetString(content);
                    break;
                case RecordBytes.EndRequest:
                    ends[id - 1]++;
                    statuses[id - 1] = BinaryPrimitives.ReadUInt32BigEndian(content);
                    break;
                case RecordBytes.GetValuesResult when id == 0:
                    break;
                default:
                    throw new InvalidOperationException($"A record of type {rest[1]} for request {id} was sent.");
            }

            rest = rest[length..];
        }

        // What was cut in the middle of a send may end anywhere.
        Require(rest.IsEmpty || connection.IsCut, $"{rest.Length} bytes of {connection.Name} are no record.");
        for (var i = 0; i < scripts.Length; i++)
            Check(connection, scripts[i], bodies[i], ends[i], statuses[i], outside);
    }

    private static void Check(
        VirtualConnection connection, HandlerScript script, string body, int ends, uint status, OutsideEvent outside)
    {
        var name = $"/{script.Word}";
        Require(ends <= 1, $"{name} was ended {ends} times.");
        Require(ends == 1 || connection.IsCut, $"{name} was not ended.");
        var end = body.IndexOf("\r\n\r\n", StringComparison.Ordinal);
        var content = end < 0 ? "" : body[(end + 4)..];
        var whole = $"<{script.Word}1><{script.Word}2>";
        Require(whole.StartsWith(content, StringComparison.Ordinal), $"{name} was answered with {content}.");
        var mayBeAborted = script.Word == 'a' && outside is OutsideEvent.AbortRecord or OutsideEvent.AbortFromElsewhere
            or OutsideEvent.AbortRecordAndStop;
        Require(ends == 0 || content == whole || mayBeAborted, $"{name} was ended behind {content}.");
        Require(status == 0 || mayBeAborted, $"{name} was ended with the status {status}.");
    }

    private static void Require(bool isSo, string what)
    {
        if (!isSo)
            throw new InvalidOperationException(what);
    }
}
