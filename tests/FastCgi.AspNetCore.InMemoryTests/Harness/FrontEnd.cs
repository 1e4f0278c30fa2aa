namespace FastCgi.AspNetCore.InMemoryTests;

internal sealed record WireRecord(byte Version, byte Type, int Id, byte[] Content, int Padding);

/// <summary>The response to one request, assembled from its records.</summary>
internal sealed record WireResponse(
    int Status,
    string StatusLine,
    IReadOnlyList<KeyValuePair<string, string>> Headers,
    byte[] Body,
    uint AppStatus,
    byte ProtocolStatus)
{
    public string Text => Encoding.UTF8.GetString(Body);

    public string? this[string name]
        => Headers.FirstOrDefault(header => header.Key.Equals(name, StringComparison.OrdinalIgnoreCase)).Value;
}

/// <summary>A simulated web server: sends bytes into a connection and reads the records from it.</summary>
internal sealed class FrontEnd : IAsyncDisposable
{
    private readonly RequestScheduler _scheduler;
    private int _position;

    public FrontEnd(MemoryTransport transport, RequestScheduler scheduler)
    {
        _scheduler = scheduler;
        Transport = transport;
    }

    /// <summary>The server, if this is its only connection; they are disposed together.</summary>
    public TestServer Server { get; init; } = null!;

    public MemoryTransport Transport { get; }

    /// <summary>Whether the server has asked to pause.</summary>
    public bool IsPaused { get; private set; }

    /// <summary>Whether all requests are complete, so that the server can close without waiting.</summary>
    public bool IsInputComplete => Fuzzing.ConnectionState.IsInputComplete(Transport.Connection);

    /// <summary>Pushes bytes as one receive.</summary>
    public void Send(params byte[][] parts)
    {
        var ready = Receive(parts);
        _scheduler.Run(ref ready, Transport.Connection.Output);
    }

    /// <summary>Pushes bytes as one receive, and runs nothing.</summary>
    public ReadyRequests Receive(params byte[][] parts)
    {
        Transport.Settle();
        var ready = new ReadyRequests();
        IsPaused = !Transport.Connection.OnReceived(parts.SelectMany(static part => part).ToArray(), ref ready);
        return ready;
    }

    /// <summary>Pushes bytes one receive each.</summary>
    public void SendByteByByte(byte[] bytes)
    {
        foreach (var b in bytes)
            Send([b]);
    }

    /// <summary>Closes the connection, as a front-end does when its client disconnects.</summary>
    public void Close()
        => Transport.Connection.OnClosed(new ConnectionResetException("The web server closed the connection."));

    /// <summary>The next record, waiting for it.</summary>
    public async Task<WireRecord> ReadRecordAsync()
    {
        await Transport.WaitUntilAsync(() => TryPeek(out _), "a record");
        Assert.True(TryPeek(out var record));
        _position += 8 + record!.Content.Length + record.Padding;
        return record;
    }

    public List<WireRecord> ReadAvailable()
    {
        Transport.Settle();
        var records = new List<WireRecord>();
        while (TryPeek(out var record))
        {
            _position += 8 + record!.Content.Length + record.Padding;
            records.Add(record);
        }

        Assert.Equal(Transport.Sent.Length, _position);
        return records;
    }

    /// <summary>The response of a request, read to its END_REQUEST and checked for well-formedness.</summary>
    public async Task<WireResponse> ReadResponseAsync(int id = 1, bool isStatusFirst = false)
    {
        var records = await ReadRequestAsync();
        Assert.All(records, record => Assert.Equal((1, id), (record.Version, record.Id)));
        var stdout = records[..^1];
        Assert.All(stdout, static record => Assert.Equal(RecordBytes.Stdout, record.Type));
        var end = stdout.FindIndex(static record => record.Content.Length == 0);
        Assert.True(end >= 0, "END_REQUEST came without the end of STDOUT.");
        Assert.True(end == stdout.Count - 1, "STDOUT continued after its end.");
        Assert.Equal(8, records[^1].Content.Length);
        return Parse([.. stdout.SelectMany(static record => record.Content)], records[^1].Content, isStatusFirst);
    }

    /// <summary>Pushes a request and reads its response; a GET if there are no bytes.</summary>
    public Task<WireResponse> AskAsync(params byte[][] request)
    {
        if (request.Length == 0)
            request = [RecordBytes.Get()];
        Send(request);
        return ReadResponseAsync(BinaryPrimitives.ReadUInt16BigEndian(request[0].AsSpan(2)));
    }

    /// <summary>The records up to the next END_REQUEST.</summary>
    public async Task<List<WireRecord>> ReadRequestAsync()
    {
        var records = new List<WireRecord>();
        do
            records.Add(await ReadRecordAsync());
        while (records[^1].Type != RecordBytes.EndRequest);
        return records;
    }

    /// <summary>The part of a response that a client gets: all of it, a truncated part, or nothing.</summary>
    public async Task<Outcome> ReadOutcomeAsync(int id = 1)
    {
        var stdout = new List<byte>();
        var isComplete = false;
        while (true)
        {
            await Transport.WaitUntilAsync(() => TryPeek(out _) || Transport.IsReset, "a record or a reset");
            if (!TryPeek(out _))
                return ToOutcome(stdout, isCut: true);

            var record = await ReadRecordAsync();
            Assert.Equal(id, record.Id);
            if (record.Type == RecordBytes.EndRequest)
                return ToOutcome(stdout, isCut: !isComplete);

            stdout.AddRange(record.Content);
            isComplete = record.Content.Length == 0;
        }
    }

    public ValueTask DisposeAsync() => Server.DisposeAsync();

    private static Outcome ToOutcome(List<byte> stdout, bool isCut)
    {
        if (stdout.Count == 0)
            return new Outcome(0, [], [], isCut);

        var response = Parse([.. stdout], new byte[8]);
        return new Outcome(response.Status, response.Headers, response.Body, isCut);
    }

    public static WireResponse Parse(byte[] stdout, byte[] endRequest, bool isStatusFirst = false)
    {
        var end = stdout.AsSpan().IndexOf("\r\n\r\n"u8);
        Assert.True(end >= 0, "There is no header block: " + Encoding.Latin1.GetString(stdout));
        var headers = Encoding.Latin1.GetString(stdout, 0, end).Split("\r\n").Select(static line =>
        {
            var colon = line.IndexOf(':', StringComparison.Ordinal);
            return KeyValuePair.Create(line[..colon], line[(colon + 1)..].Trim());
        }).ToList();
        var status = isStatusFirst ? headers[0] : headers[^1];
        Assert.Equal("Status", status.Key);
        headers.Remove(status);
        var statusLine = status.Value;
        return new WireResponse(
            int.Parse(statusLine[..3]),
            statusLine,
            headers,
            stdout[(end + 4)..],
            BinaryPrimitives.ReadUInt32BigEndian(endRequest),
            endRequest[4]);
    }

    private bool TryPeek(out WireRecord? record)
    {
        record = null;
        var header = Transport.CopySent(_position, 8);
        if (header.Length < 8)
            return false;

        if (header.SequenceEqual(RecordBytes.Cut))
        {
            record = new WireRecord(0, RecordBytes.CutMark, 0, [], 0);
            return true;
        }

        int length = BinaryPrimitives.ReadUInt16BigEndian(header.AsSpan(4));
        var bytes = Transport.CopySent(_position, 8 + length + header[6]).AsSpan();
        if (bytes.Length < 8 + length + header[6])
            return false;

        record = new WireRecord(
            bytes[0],
            bytes[1],
            BinaryPrimitives.ReadUInt16BigEndian(bytes[2..]),
            bytes.Slice(8, length).ToArray(),
            bytes[6]);
        return true;
    }
}
