using System.Buffers.Binary;

namespace FastCgi.Tool.Commands.Check;

/// <summary>A connection that sends arbitrary bytes and verifies each received record.</summary>
internal sealed class CheckPeer(Socket socket, Func<TimeSpan> getTimeout) : IDisposable
{
    public const string Silent = "no response";
    public const string Closed = "the connection is closed";

    private readonly NetworkStream _stream = new(socket, ownsSocket: true);
    private readonly Dictionary<int, CheckResponse> _open = [];
    private readonly List<string> _flaws = [];

    public static async Task<CheckPeer> ConnectAsync(FastCgiAddress address, Func<TimeSpan> getTimeout)
        => new(await address.ConnectAsync(getTimeout(), TimeProvider.System, CancellationToken.None), getTimeout);

    /// <summary>Sends bytes. A closed connection is detected when the response is read.</summary>
    public async Task SendAsync(params byte[][] parts)
    {
        using var cancellation = new CancellationTokenSource(getTimeout());
        try
        {
            foreach (var part in parts)
                await _stream.WriteAsync(part, cancellation.Token);
        }
        catch (Exception exception) when (exception is IOException or OperationCanceledException)
        {
            // The server did not receive everything.
        }
    }

    public void HalfClose() => socket.Shutdown(SocketShutdown.Send);

    public void Reset()
    {
        socket.LingerState = new LingerOption(enable: true, seconds: 0);
        Dispose();
    }

    /// <returns>A record, or the reason why there is none.</returns>
    public async Task<(CheckRecord? Record, string? Problem)> ReadRecordAsync(TimeSpan? most = null)
    {
        using var cancellation = new CancellationTokenSource(most < getTimeout() ? most.Value : getTimeout());
        try
        {
            if (await ReadAsync(ProtocolConstants.HeaderLength, cancellation.Token) is not { } bytes)
                return (null, Closed);

            var header = RecordHeader.Parse(bytes);
            if (header.Version != ProtocolConstants.Version)
                return (null, $"a record of version {header.Version}");
            if (bytes[7] != 0)
                _flaws.Add($"the reserved byte of a {RecordNames.Get(header.Type)} is {bytes[7]}");
            var content = await ReadAsync(header.ContentLength + header.PaddingLength, cancellation.Token);
            return content is null
                ? (null, $"closed within a {RecordNames.Get(header.Type)}")
                : (new CheckRecord(header.Type, header.RequestId, content[..header.ContentLength]), null);
        }
        catch (OperationCanceledException)
        {
            return (null, Silent);
        }
    }

    /// <returns>The values of GET_VALUES, or <see langword="null"/> and the reason.</returns>
    public async Task<(Dictionary<string, string>? Values, string Problem)> ReadValuesAsync(params string[] names)
    {
        await SendAsync(Record(RecordType.GetValues, 0, Pairs(names.Select(static name => (name, "")))));
        return await ReadRecordAsync() switch
        {
            (null, var problem) => (null, problem!),
            ({ Type: RecordType.GetValuesResult, Id: 0 } result, _)
                => (ClientConnection.ReadPairs(result.Content), "its pairs cannot be read"),
            var (other, _) => (null, $"the response is {RecordNames.Get(other.Type)}, id {other.Id}"),
        };
    }

    /// <summary>Reads until a request ends. Records of requests that are not active are a flaw.</summary>
    /// <param name="others">Other active requests, whose records are kept.</param>
    public async Task<CheckResponse> ReadResponseAsync(int id = 1, params int[] others)
    {
        foreach (var active in others.Append(id))
            _open.TryAdd(active, new CheckResponse());
        var response = _open[id];
        while (response.End is null && response.Problem is null)
        {
            var (record, problem) = await ReadRecordAsync();
            if (record is null)
                response.Problem = problem;
            else if (!_open.TryGetValue(record.Id, out var taker) || taker.End is not null)
                _flaws.Add($"a {RecordNames.Get(record.Type)} for id {record.Id}");
            else
                taker.Take(record, _flaws);
        }

        if (response.Problem is not (null or Silent or Closed))
            _flaws.Add(response.Problem);
        _open.Remove(id);
        response.Flaws = [.. _flaws];
        return response;
    }

    public bool HasEnded(int id) => _open[id].End is not null;

    public void Dispose() => _stream.Dispose();

    private async Task<byte[]?> ReadAsync(int length, CancellationToken cancellationToken)
    {
        var bytes = new byte[length];
        try
        {
            return await _stream.ReadAtLeastAsync(
                bytes, length, throwOnEndOfStream: false, cancellationToken) == length ? bytes : null;
        }
        catch (IOException)
        {
            return null;
        }
    }
}

internal sealed record CheckRecord(RecordType Type, int Id, byte[] Content)
{
    public int AppStatus => BinaryPrimitives.ReadInt32BigEndian(Content);
    public FastCgiProtocolStatus ProtocolStatus => (FastCgiProtocolStatus)Content[4];
}

/// <summary>The records received for a request.</summary>
internal sealed class CheckResponse
{
    private readonly ArrayBufferWriter<byte> _output = new();

    /// <summary>Why the response has no end.</summary>
    public string? Problem { get; set; }
    public (int AppStatus, FastCgiProtocolStatus ProtocolStatus)? End { get; private set; }

    /// <summary>The streams that were sent, and whether each is ended.</summary>
    public Dictionary<RecordType, bool> Streams { get; } = [];
    public string[] Flaws { get; set; } = [];
    public int Status => Head?.StatusCode ?? 0;
    public HeaderBlock? Head => field ??= ParseHead();
    public byte[] Body { get; private set; } = [];

    /// <summary>Whether this is a complete CGI response, with any status.</summary>
    public bool IsWhole => End?.ProtocolStatus == FastCgiProtocolStatus.RequestComplete && Head is not null;

    public bool IsRefused(FastCgiProtocolStatus status) => End?.ProtocolStatus == status;

    public string Describe() => (Problem, _output.WrittenCount > 0) switch
    {
        (CheckPeer.Silent, true) => "the response does not end",
        (CheckPeer.Closed, true) => "closed during the response",
        (CheckPeer.Closed, false) => "closed without a response",
        ({ } problem, _) => problem == CheckPeer.Silent ? problem : $"not FastCGI: {string.Join(", ", Flaws)}",
        _ when End is not { ProtocolStatus: FastCgiProtocolStatus.RequestComplete } => $"{End?.ProtocolStatus}",
        _ => Head is null ? $"no header block, appStatus {End?.AppStatus}" : $"{Status}",
    };

    public void Take(CheckRecord record, List<string> flaws)
    {
        switch (record.Type)
        {
            case RecordType.Stdout or RecordType.Stderr:
                var (name, isEnded) = (RecordNames.Get(record.Type), Streams.GetValueOrDefault(record.Type));
                if (isEnded)
                    flaws.Add($"a {name} record after the end of {name}");
                Streams[record.Type] = isEnded || record.Content.Length == 0;
                if (record.Type == RecordType.Stdout)
                    _output.Write(record.Content);
                break;
            case RecordType.EndRequest when record.Content.Length == ProtocolConstants.FixedBodyLength:
                End = (record.AppStatus, record.ProtocolStatus);
                break;
            case RecordType.EndRequest:
                Problem = $"an END_REQUEST of {record.Content.Length} bytes";
                break;
            default:
                flaws.Add($"a {RecordNames.Get(record.Type)}");
                break;
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
            var head = HeaderBlock.Parse(output[..end]);
            Body = output[end..].ToArray();
            return head;
        }
        catch (FastCgiProtocolException)
        {
            return null;
        }
    }
}
