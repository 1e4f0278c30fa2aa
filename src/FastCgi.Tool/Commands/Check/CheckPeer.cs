using System.Buffers.Binary;

namespace FastCgi.Tool.Commands.Check;

/// <summary>A connection on which anything can be sent, and on which each record is looked at.</summary>
internal sealed class CheckPeer(Socket socket, Func<TimeSpan> patience) : IDisposable
{
    /// <summary>What was wrong with the form of records so far.</summary>
    public List<string> Flaws { get; } = [];

    /// <param name="address">Where to connect.</param>
    /// <param name="patience">How long an operation may take now.</param>
    public static async Task<CheckPeer> ConnectAsync(FastCgiAddress address, Func<TimeSpan> patience)
    {
        var socket = address.CreateSocket();
        try
        {
            using var cancellation = new CancellationTokenSource(patience());
            await socket.ConnectAsync(address.EndPoint, cancellation.Token);
            return new CheckPeer(socket, patience);
        }
        catch (Exception exception)
        {
            socket.Dispose();
            throw exception is OperationCanceledException ? new SocketException((int)SocketError.TimedOut) : exception;
        }
    }

    /// <summary>Sends. A server that has closed is found when its answer is read.</summary>
    public async Task SendAsync(params byte[][] parts)
    {
        using var cancellation = new CancellationTokenSource(patience());
        try
        {
            foreach (var part in parts)
            {
                for (var rest = part.AsMemory(); !rest.IsEmpty;)
                    rest = rest[await socket.SendAsync(rest, cancellation.Token)..];
            }
        }
        catch (Exception exception) when (exception is SocketException or OperationCanceledException)
        {
            // Not all of it was taken.
        }
    }

    public void HalfClose() => socket.Shutdown(SocketShutdown.Send);

    /// <summary>Closes so that it looks lost.</summary>
    public void Reset()
    {
        socket.LingerState = new LingerOption(enable: true, seconds: 0);
        socket.Dispose();
    }

    /// <summary>Reads a record.</summary>
    /// <returns><see langword="null"/> if the server has closed.</returns>
    /// <exception cref="TimeoutException">Nothing comes.</exception>
    /// <exception cref="InvalidDataException">It is no record.</exception>
    public async Task<CheckRecord?> ReadRecordAsync(TimeSpan? most = null)
    {
        using var cancellation = new CancellationTokenSource(most < patience() ? most.Value : patience());
        try
        {
            if (await ReadAsync(ProtocolConstants.HeaderLength, cancellation.Token) is not { } bytes)
                return null;

            var header = RecordHeader.Parse(bytes);
            if (header.Version != ProtocolConstants.Version)
                throw new InvalidDataException($"a record of version {header.Version}");
            if (bytes[7] != 0)
                Flaws.Add($"the reserved byte of a {RecordNames.Get(header.Type)} is {bytes[7]}");
            var content = await ReadAsync(header.ContentLength + header.PaddingLength, cancellation.Token);
            if (content is null)
                throw new InvalidDataException($"closed within a {RecordNames.Get(header.Type)}");
            return new CheckRecord(header.Type, header.RequestId, content[..header.ContentLength]);
        }
        catch (OperationCanceledException)
        {
            throw new TimeoutException();
        }
    }

    /// <summary>Reads to the end of a request. Records of others are a flaw.</summary>
    public async Task<CheckAnswer> ReadAnswerAsync(int id = 1)
    {
        var answer = new CheckAnswer();
        await ReadAnswersAsync(new Dictionary<int, CheckAnswer> { [id] = answer }, id);
        return answer;
    }

    /// <summary>Reads the records of several requests until one has ended.</summary>
    /// <param name="answers">The requests that are active, by their ids. Records of others are a flaw.</param>
    /// <param name="id">The one to wait for.</param>
    public async Task ReadAnswersAsync(IReadOnlyDictionary<int, CheckAnswer> answers, int id)
    {
        var answer = answers[id];
        try
        {
            while (answer.End is null && await ReadRecordAsync() is { } record)
            {
                if (!answers.TryGetValue(record.Id, out var taker) || taker.End is not null)
                    Flaws.Add($"a {RecordNames.Get(record.Type)} for id {record.Id}");
                else if (taker.Take(record, Flaws) && taker == answer)
                    break;
            }

            answer.IsClosed = answer.End is null;
        }
        catch (TimeoutException)
        {
            answer.IsSilent = true;
        }
        catch (InvalidDataException exception)
        {
            Flaws.Add(exception.Message);
        }

        answer.Flaws = [.. Flaws];
    }

    /// <summary>Whether the server closes the connection, and says nothing more.</summary>
    /// <returns><see langword="null"/> if it does neither.</returns>
    public async Task<bool?> IsClosedAsync(TimeSpan? most = null)
    {
        try
        {
            return await ReadRecordAsync(most) is null;
        }
        catch (TimeoutException)
        {
            return null;
        }
        catch (InvalidDataException)
        {
            return false;
        }
    }

    public void Dispose() => socket.Dispose();

    private async Task<byte[]?> ReadAsync(int length, CancellationToken cancellationToken)
    {
        var bytes = new byte[length];
        try
        {
            for (var read = 0; read < length;)
            {
                var received = await socket.ReceiveAsync(bytes.AsMemory(read), cancellationToken);
                if (received == 0)
                    return null;

                read += received;
            }
        }
        catch (SocketException)
        {
            return null;
        }

        return bytes;
    }
}

/// <summary>A record that came.</summary>
internal sealed record CheckRecord(RecordType Type, int Id, byte[] Content)
{
    /// <summary>The name-value pairs of its content; <see langword="null"/> if it has none.</summary>
    public Dictionary<string, string>? ReadPairs()
    {
        var values = new Dictionary<string, string>(StringComparer.Ordinal);
        var pairs = new NameValuePairReader(Content);
        while (pairs.TryRead(out var name, out var value))
            values[Encoding.UTF8.GetString(name)] = Encoding.UTF8.GetString(value);
        return pairs.IsMalformed ? null : values;
    }

    public int AppStatus => BinaryPrimitives.ReadInt32BigEndian(Content);

    public int ProtocolStatus => Content[4];
}
