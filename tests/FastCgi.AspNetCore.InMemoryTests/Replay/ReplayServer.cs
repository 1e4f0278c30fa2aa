namespace FastCgi.AspNetCore.InMemoryTests.Replay;

/// <summary>A server that receives captured bytes, and whose application records what it sees.</summary>
public sealed class ReplayServer : IAsyncLifetime
{
    private const int HeaderLength = 8;

    // An unusual size, so that records and pairs are split anywhere.
    private const int PieceSize = 1_447;

    private readonly ConcurrentQueue<Task<SeenRequest>> _seen = new();
    private TestServer _server = null!;

    public async Task InitializeAsync() => _server = await TestServer.StartAsync(RunAsync);

    public async Task DisposeAsync() => await _server.DisposeAsync();

    /// <summary>Plays a connection and closes it.</summary>
    /// <returns>
    /// What the application saw, in the order in which it was called, and how many requests were rejected for each
    /// reason.
    /// </returns>
    internal async Task<(IReadOnlyList<SeenRequest> Seen, IEnumerable<string> Rejected)> PlayAsync(byte[] bytes)
    {
        _seen.Clear();
        var before = GetRejected();
        var frontEnd = _server.Connect();
        var open = new HashSet<int>();
        foreach (var record in Split(bytes))
        {
            var id = BinaryPrimitives.ReadUInt16BigEndian(record.AsSpan(2));
            // The front-end did not reuse an id before it had the response.
            if (record[1] == RecordBytes.BeginRequest && !open.Add(id))
                await ReadEndAsync(frontEnd, id);
            await SendAsync(frontEnd, record);
        }

        frontEnd.Close();
        var seen = await Task.WhenAll(_seen).Within("the application");
        var rejected = GetRejected()
            .Select(reason => (reason.Key, Count: reason.Value - before.GetValueOrDefault(reason.Key)));
        return (
            seen,
            rejected.Where(static reason => reason.Count > 0)
                .Select(static reason => $"{reason.Count} {reason.Key}")
                .Order());
    }

    private Dictionary<string, long> GetRejected()
        => _server.Context.Counters.RejectedRequests.ToDictionary(
            static count => count.Key.ToString(), static count => count.Value);

    private Task RunAsync(HttpContext context)
    {
        var seen = SeenRequest.ReadAsync(context);
        _seen.Enqueue(seen);
        return seen;
    }

    private static IEnumerable<byte[]> Split(byte[] bytes)
    {
        for (var start = 0; start < bytes.Length;)
        {
            var length = Math.Min(
                HeaderLength + BinaryPrimitives.ReadUInt16BigEndian(bytes.AsSpan(start + 4)) + bytes[start + 6],
                bytes.Length - start);
            yield return bytes[start..(start + length)];
            start += length;
        }
    }

    private static async Task SendAsync(FrontEnd frontEnd, byte[] record)
    {
        foreach (var piece in record.Chunk(PieceSize))
        {
            var resumed = frontEnd.Transport.ResumeCount;
            frontEnd.Send(piece);
            if (frontEnd.IsPaused)
                await frontEnd.Transport.WaitUntilAsync(
                    () => frontEnd.Transport.ResumeCount > resumed, "receiving to be resumed");
        }
    }

    private static async Task ReadEndAsync(FrontEnd frontEnd, int id)
    {
        WireRecord record;
        do
            record = await frontEnd.ReadRecordAsync();
        while (record.Type != RecordBytes.EndRequest || record.Id != id);
    }
}
