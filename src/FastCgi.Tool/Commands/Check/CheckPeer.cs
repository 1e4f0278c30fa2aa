using System.Buffers.Binary;

namespace FastCgi.Tool.Commands.Check;

/// <summary>A connection that sends arbitrary bytes and verifies each received record.</summary>
internal sealed class CheckPeer(Socket socket, Func<TimeSpan> getTimeout) : IDisposable
{
    public const string Silent = "no response";

    private readonly NetworkStream _stream = new(socket, ownsSocket: true);

    public List<string> Flaws { get; } = [];

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

    /// <returns>A record, or the reason why there is none; neither if the server has closed the connection.</returns>
    public async Task<(CheckRecord? Record, string? Problem)> ReadRecordAsync(TimeSpan? most = null)
    {
        using var cancellation = new CancellationTokenSource(most < getTimeout() ? most.Value : getTimeout());
        try
        {
            if (await ReadAsync(ProtocolConstants.HeaderLength, cancellation.Token) is not { } bytes)
                return default;

            var header = RecordHeader.Parse(bytes);
            if (header.Version != ProtocolConstants.Version)
                return (null, $"a record of version {header.Version}");
            if (bytes[7] != 0)
                Flaws.Add($"the reserved byte of a {RecordNames.Get(header.Type)} is {bytes[7]}");
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

    public async Task<CheckRecord> RequireRecordAsync()
    {
        var (record, problem) = await ReadRecordAsync();
        return record ?? throw CheckException.Fail(problem ?? "the connection is closed");
    }

    /// <summary>Reads until a request ends. Records of other requests are a flaw.</summary>
    public async Task<CheckResponse> ReadResponseAsync(int id = 1)
    {
        var response = new CheckResponse();
        await ReadResponsesAsync(new Dictionary<int, CheckResponse> { [id] = response }, id);
        return response;
    }

    /// <summary>Reads the records of active requests until one ends. Records of other requests are a flaw.</summary>
    public async Task ReadResponsesAsync(IReadOnlyDictionary<int, CheckResponse> responses, int id)
    {
        var response = responses[id];
        while (response.End is null)
        {
            var (record, problem) = await ReadRecordAsync();
            response.IsClosed = record is null && problem is null;
            response.IsSilent = problem == Silent;
            if (problem is not null && !response.IsSilent)
                Flaws.Add(problem);
            if (record is null)
                break;
            if (!responses.TryGetValue(record.Id, out var taker) || taker.End is not null)
                Flaws.Add($"a {RecordNames.Get(record.Type)} for id {record.Id}");
            else if (taker.Take(record, Flaws) && taker == response)
                break;
        }

        response.Flaws = [.. Flaws];
    }

    /// <summary>Whether the server closes the connection without sending anything.</summary>
    /// <returns><see langword="null"/> if the server neither sends nor closes.</returns>
    public async Task<bool?> IsClosedAsync(TimeSpan? most = null)
        => await ReadRecordAsync(most) switch { (null, null) => true, (null, Silent) => null, _ => false };

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
