namespace FastCgi.AspNetCore.InMemoryTests.Faults;

internal sealed class SentAnswer
{
    public List<byte> Stdout { get; } = [];

    public bool IsStdoutOver { get; set; }

    /// <summary>Whether END_REQUEST has come.</summary>
    public bool IsOver { get; set; }
}

/// <summary>Parses what was sent on a connection, even if it is cut, and checks that it is well-formed.</summary>
internal static class SentAnswers
{
    /// <returns>The responses by request id. Results of management records have the id 0.</returns>
    public static Dictionary<int, SentAnswer> Read(ReadOnlySpan<byte> sent)
    {
        var answers = new Dictionary<int, SentAnswer>();
        while (sent.Length >= 8)
        {
            int type = sent[1], id = BinaryPrimitives.ReadUInt16BigEndian(sent[2..]), length = BinaryPrimitives
                .ReadUInt16BigEndian(sent[4..]), padding = sent[6];
            Assert.Equal(1, sent[0]);
            if (!answers.TryGetValue(id, out var answer))
                answers.Add(id, answer = new SentAnswer());
            Assert.False(answer.IsOver, $"A record of type {type} came behind the end of request {id}.");
            if (type == RecordBytes.Stdout)
            {
                Assert.False(answer.IsStdoutOver, "STDOUT went on behind its end.");
                answer.IsStdoutOver = length == 0;
                var rest = sent[8..];
                answer.Stdout.AddRange(rest[..Math.Min(length, rest.Length)]);
            }
            else if (id != 0)
            {
                Assert.Equal(RecordBytes.EndRequest, type);
                answer.IsOver = sent.Length >= 8 + length;
            }

            sent = sent[Math.Min(sent.Length, 8 + length + padding)..];
        }

        return answers;
    }
}
