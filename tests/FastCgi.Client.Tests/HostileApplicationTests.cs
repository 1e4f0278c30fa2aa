using FastCgi.AspNetCore.Protocol;

namespace FastCgi.Client.Tests;

/// <summary>Applications that violate the protocol.</summary>
public sealed class HostileApplicationTests : IDisposable
{
    private readonly ScriptedApplication _application = new();

    /// <summary>The bytes arrive before the request begins.</summary>
    [Fact]
    public async Task Peer_SpeaksBeforeTheRequest_IsQuoted()
    {
        using var client = new FastCgiClient(
            _application.Address, new FastCgiClientOptions { Trace = new EarlySpeech(_application) });

        Assert.Contains("'SSH-2.0-OpenSSH_9.2??'", (await client.GetAsync().FailAsync()).Message);
    }

    [Fact]
    public async Task Answer_SentTwice_ReachesNoOtherRequest()
    {
        using var trace = new SecondAnswer();
        using var client = new FastCgiClient(
            _application.Address,
            new FastCgiClientOptions { KeepConnections = true, MaxConnections = 1, Trace = trace });
        var first = client.GetAsync("/1");
        var connection = await _application.AcceptRequestAsync();
        var second = client.GetAsync("/2");
        await connection.SendAsync([.. ScriptedConnection.Answer("A: b\n\nof the first"), .. ScriptedConnection.Answer(
            "A: b\n\nof the first")]);
        Assert.Equal("of the first", await first);

        await _application.AnswerAsync("A: b\n\nof the second");
        Assert.Equal("of the second", await second);
    }

    [Fact]
    public async Task Body_SentAgain_IsReadByOneAtATime()
    {
        using var client = new FastCgiClient(_application.Address, new FastCgiClientOptions { KeepConnections = true });
        var warm = client.GetAsync();
        var connection = await _application.AnswerAsync("A: b\n\nx");
        await warm;

        using var body = new SlowStream("0123456789"u8.ToArray());
        var sent = client.SendAsync(Requests.Create("PUT", body: body));
        await body.Reading.Within("the body to be read");
        connection.Dispose();
        await Task.Delay(200);
        body.Continue();
        var other = await _application.AcceptAsync();
        var records = await other.ReadRequestAsync();
        Assert.Equal("0123456789", string.Concat(records.Where(static record => record.Type == Stdin).Select(
            static record => System.Text.Encoding.ASCII.GetString(record.Content))));
        await other.SendAsync(ScriptedConnection.Answer("A: b\n\nx"));
        (await sent.Within("the answer")).Dispose();
        Assert.Equal(1, body.MostReaders);
    }

    [Fact]
    public void Times_LongerThanTimersAllow_AreRefused()
    {
        var options = new FastCgiClientOptions();
        Assert.Throws<ArgumentOutOfRangeException>(() => options.IdleTimeout = TimeSpan.MaxValue);
        Assert.Throws<ArgumentOutOfRangeException>(() => options.ConnectTimeout = TimeSpan.FromDays(50));
        options.IdleTimeout = TimeSpan.FromDays(49);
        options.ConnectTimeout = Timeout.InfiniteTimeSpan;
    }

    public void Dispose() => _application.Dispose();

    /// <summary>The application speaks when the connection opens, before the client receives or sends.</summary>
    private sealed class EarlySpeech(ScriptedApplication application) : Connections.RecordTrace
    {
        public override void OnEvent(int connection, bool isSent, string what)
        {
            if (what == "open")
                SpeakAsync().GetAwaiter().GetResult();
        }

        private async Task SpeakAsync()
            => await (await application.AcceptAsync()).SendAsync("SSH-2.0-OpenSSH_9.2\r\n"u8.ToArray());
    }

    /// <summary>
    /// Blocks the receiving loop at the second response, so that the next request could begin before it.
    /// </summary>
    private sealed class SecondAnswer : Connections.RecordTrace, IDisposable
    {
        private readonly ManualResetEventSlim _begun = new();
        private int _ends;

        public void Dispose() => _begun.Dispose();

        public override void OnRecord(int connection, bool isSent, RecordHeader header, ReadOnlySpan<byte> content)
        {
            if (isSent)
            {
                if (header.Type == RecordType.BeginRequest && Volatile.Read(ref _ends) == 1)
                    _begun.Set();
            }
            else if (header.Type == RecordType.EndRequest)
            {
                Interlocked.Increment(ref _ends);
            }
            else if (Volatile.Read(ref _ends) == 1)
            {
                _begun.Wait(TimeSpan.FromMilliseconds(1500));
            }
        }
    }

    /// <summary>A seekable stream whose first read waits for a signal and ignores cancellation.</summary>
    private sealed class SlowStream(byte[] content) : MemoryStream(content)
    {
        private readonly TaskCompletionSource _reading = new(TaskCreationOptions.RunContinuationsAsynchronously);
        private readonly TaskCompletionSource _continued = new(TaskCreationOptions.RunContinuationsAsynchronously);
        private int _readers;

        public Task Reading => _reading.Task;

        public int MostReaders { get; private set; }

        public void Continue() => _continued.TrySetResult();

        public override async Task CopyToAsync(Stream destination, int bufferSize, CancellationToken cancellationToken)
        {
            var buffer = new byte[4];
            while (await ReadAsync(buffer, CancellationToken.None) is > 0 and var read)
                await destination.WriteAsync(buffer.AsMemory(0, read), cancellationToken);
        }

        public override async ValueTask<int> ReadAsync(
            Memory<byte> buffer, CancellationToken cancellationToken = default)
        {
            MostReaders = Math.Max(MostReaders, Interlocked.Increment(ref _readers));
            _reading.TrySetResult();
            await _continued.Task;
            Interlocked.Decrement(ref _readers);
            return Read(buffer.Span);
        }
    }
}
