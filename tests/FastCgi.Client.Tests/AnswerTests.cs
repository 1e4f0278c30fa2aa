using FastCgi.AspNetCore.Protocol;
using FastCgi.Client.Connections;
using static FastCgi.Client.FastCgiProtocolError;
using static FastCgi.Client.Tests.Harness.ScriptedConnection;

namespace FastCgi.Client.Tests;

/// <summary>Responses as bytes, complete and malformed.</summary>
public sealed class AnswerTests : IDisposable
{
    private static readonly byte[] s_head = Record(Stdout, 1, "A: b\n\nhello"u8);

    private readonly ScriptedApplication _application = new();
    private readonly FastCgiClient _client;

    public AnswerTests() => _client = CreateClient(new FastCgiClientOptions());

    [Fact]
    public async Task Answer_CutAnywhere_IsTheSame()
    {
        byte[] answer =
        [
            .. Record(Stderr, 1, "warn"u8, padding: 3),
            .. Record(Stdout, 1, "Status: 201 Created\r\nX-A: b\r\n"u8, padding: 5, reserved: 9),
            .. Record(Stdout, 1, "\r\nhel"u8), .. Record(Stderr, 1, "ing"u8), .. Record(Stderr, 1), .. Record(
                Stdout, 1, "lo"u8, padding: 255),
            .. Record(Stdout, 1, padding: 8), .. EndOfRequest(appStatus: 258),
        ];
        // With a single slot, each request waits until the receiving loop has released the connection.
        using var client = CreateClient(new FastCgiClientOptions { KeepConnections = true, MaxConnections = 1 });
        ScriptedConnection? connection = null;
        for (var split = 0; split <= answer.Length; split++)
        {
            var sending = client.SendAsync(Requests.Create());
            connection ??= await _application.AcceptAsync();
            await connection.ReadRequestAsync();
            await connection.SendAsync(answer[..split]);
            await Task.Yield();
            await connection.SendAsync(answer[split..]);

            using var response = await sending.Within("the answer");
            Assert.Equal((201, "Created"), (response.StatusCode, response.ReasonPhrase));
            Assert.Equal([new("X-A", "b")], response.Headers);
            Assert.Equal("hello", await response.ReadTextAsync());
            var completion = await response.Completion.Within("the end");
            Assert.Equal(new FastCgiCompletion(258, FastCgiProtocolStatus.RequestComplete, "warning"), completion);
        }

        Assert.True(_application.HasNoOther());
    }

    [Fact]
    public async Task Answer_OfLargestRecords_IsWhole()
    {
        var (connection, sending) = await _application.BeginAsync(_client);
        var content = new byte[65_535];
        Array.Fill(content, (byte)'x');
        await connection.SendAsync(Record(Stdout, 1, "A: b\n\n"u8));
        using var response = await sending.Within("the answer");
        var body = response.ReadTextAsync();
        for (var i = 0; i < 20; i++)
            await connection.SendAsync(Record(Stdout, 1, content, padding: 255));
        await connection.SendAsync([.. Record(Stdout, 1), .. EndOfRequest()]);

        Assert.Equal(20 * 65_535, (await body).Length);
    }

    [Theory]
    [InlineData(0, 7, "appStatus 7")]
    [InlineData(1, 0, "CANT_MPX_CONN")]
    [InlineData(2, 0, "OVERLOADED")]
    [InlineData(3, 0, "UNKNOWN_ROLE")]
    [InlineData(77, 0, "protocolStatus 77")]
    public async Task End_WithoutResponse_ErrorGivesReason(int protocolStatus, int appStatus, string text)
    {
        var (connection, sending) = await _application.BeginAsync(_client);
        await connection.SendAsync([.. Record(Stderr, 1, "the reason"u8), .. EndOfRequest(
            appStatus: appStatus, protocolStatus: protocolStatus)]);

        var exception = await sending.FailAsync();
        Assert.Equal(NoAnswer, exception.Error);
        Assert.StartsWith($"fastcgi://{_application.Address}: ", exception.Message);
        Assert.Contains(text, exception.Message);
        Assert.Equal(
            new FastCgiCompletion(appStatus, (FastCgiProtocolStatus)protocolStatus, "the reason"),
            exception.Completion);
    }

    /// <summary>What the application sends, and what the caller gets: a body, and then an error.</summary>
    public static TheoryData<string, byte[], string, FastCgiProtocolError?, string> Answers => new()
    {
        { "GET", Answer("Status: 204 No Content\r\n\r\nleak"), "", null, "" },
        { "GET", Answer("Status: 304 Not Modified\r\nContent-Length: 10\r\n\r\nleak"), "", null, "" },
        { "HEAD", Answer("Content-Length: 10\r\n\r\nleak"), "", null, "" },
        // Without an empty STDOUT record.
        { "GET", [.. s_head, .. EndOfRequest()], "hello", null, "" },
        { "GET", Answer("Content-Length: 6\n\nhello"), "hello", BodyTooShort, "" },
        { "GET", Answer("Content-Length: 4\n\nhello"), "", BodyTooLong, "" },
        { "GET", [.. s_head, .. EndOfRequest(appStatus: 1)], "hello", BodyTooShort, "" },
        // Over a Unix socket, our server ends a failed response with bytes that are no record.
        { "GET", [.. s_head, .. Cut[..1]], "hello", ConnectionClosed, "ended the response before it was complete" },
        { "GET", [.. s_head, .. Cut], "hello", ConnectionClosed, "ended the response before it was complete" },
        {
            "GET", "HTTP/1.1 400 Bad Request\r\n"u8.ToArray(), "", MalformedRecord,
            "'HTTP/1.1 400 Bad Request??' instead of version 1"
        },
        { "GET", Record(Stdout, 1, "A: b"u8, version: 2), "", MalformedRecord, "instead of version 1" },
        { "GET", Record(Stdout, 2, "A: b\n\n"u8), "", MalformedRecord, "the request 2, which is not active" },
        { "GET", Record(BeginRequest, 1, new byte[8]), "", MalformedRecord, "type 1" },
        { "GET", Record(Stdin, 1, "A: b\n\n"u8), "", MalformedRecord, "type 5" },
        { "GET", Record(200, 1, "A: b\n\n"u8), "", MalformedRecord, "type 200" },
        {
            "GET", Record(GetValuesResult, 0, Pairs(("FCGI_MPXS_CONNS", "1"))), "", MalformedRecord,
            "an unrequested management record of type 10"
        },
        {
            "GET", Record(UnknownType, 0, [9, 0, 0, 0, 0, 0, 0, 0]), "", MalformedRecord,
            "an unrequested management record of type 11"
        },
        { "GET", Record(GetValues, 0), "", MalformedRecord, "an unrequested management record of type 9" },
        { "GET", Record(EndRequest, 1, new byte[7]), "", MalformedRecord, "7 bytes of content where 8" },
        { "GET", Record(EndRequest, 1, new byte[9]), "", MalformedRecord, "9 bytes of content where 8" },
    };

    [Theory, MemberData(nameof(Answers))]
    public async Task Answer_AnyBytes_AreABodyOrAnError(
        string method, byte[] bytes, string body, FastCgiProtocolError? error, string why)
    {
        var (connection, sending) = await _application.BeginAsync(_client, method);
        await connection.SendAsync(bytes);

        var (read, failure) = await ReadAsync(sending);
        Assert.Equal((body, error), (read, failure?.Error));
        if (failure is null)
            return;

        Assert.StartsWith($"fastcgi://{_application.Address}: ", failure.Message);
        Assert.Contains(why, failure.Message);
        Assert.Null(await connection.ReadRecordAsync());
    }

    /// <summary>Wherever the connection ends, the caller gets an exception, never a complete response.</summary>
    [Fact]
    public async Task Connection_EndedAnywhere_Fails()
    {
        byte[] answer = [
            .. Record(Stdout, 1, "A: b\r\n\r\n"u8),
            .. Record(Stdout, 1, "hello"u8, padding: 3),
            .. Record(Stdout, 1),
            .. EndOfRequest()];
        for (var length = 0; length < answer.Length; length++)
        {
            var (connection, sending) = await _application.BeginAsync(_client);
            await connection.SendAsync(answer[..length]);
            connection.Dispose();

            var (_, failure) = await ReadAsync(sending);
            Assert.Equal(ConnectionClosed, failure?.Error);
            Assert.StartsWith($"fastcgi://{_application.Address}: ", failure!.Message);
        }
    }

    [Theory]
    [InlineData(1000, true)]
    [InlineData(1001, false)]
    public async Task Headers_UpToTheLimit_AreRead(int length, bool isRead)
    {
        using var client = CreateClient(new FastCgiClientOptions { MaxResponseHeadersSize = 1000 });
        var (connection, sending) = await _application.BeginAsync(client);
        await connection.SendAsync(Answer($"X: {new string('x', length - 7)}\r\n\r\n"));

        if (isRead)
            (await sending.Within("the answer")).Dispose();
        else
            Assert.Equal(HeadersTooLarge, (await sending.FailAsync()).Error);
    }

    [Fact]
    public async Task Headers_WithoutEnd_AreRefusedAtTheLimit()
    {
        using var client = CreateClient(
            new FastCgiClientOptions { MaxResponseHeadersSize = 100_000, MaxResponseBufferSize = 1_000 });
        var (connection, sending) = await _application.BeginAsync(client);
        await connection.SendAsync(Record(Stdout, 1, Encoding.ASCII.GetBytes(new string('x', 60_000))));
        await connection.SendAsync(Record(Stdout, 1, Encoding.ASCII.GetBytes(new string('x', 60_000))));

        Assert.Equal(HeadersTooLarge, (await sending.FailAsync()).Error);
        Assert.Null(await connection.ReadRecordAsync());
    }

    [Fact]
    public async Task StandardError_BeyondTheLimit_IsDropped()
    {
        using var client = CreateClient(new FastCgiClientOptions { MaxStandardErrorSize = 10 });
        var (connection, sending) = await _application.BeginAsync(client);
        await connection.SendAsync(
            [.. Record(Stderr, 1, "12345678"u8), .. Record(Stderr, 1, "90abcdef"u8), .. Answer(
                "A: b\n\n")]);

        using var response = await sending.Within("the answer");
        Assert.Equal("1234567890", (await response.Completion).StandardError);
    }

    /// <summary>The client receives only as much as its buffers hold.</summary>
    [Fact]
    public async Task Body_ReadSlowly_ApplicationWaits()
    {
        const int RecordSize = 32_000;
        const int Records = 500;
        var received = new ReceivedOutput();
        using var client = CreateClient(
            new FastCgiClientOptions { MaxResponseBufferSize = 64 * 1024, Trace = received });
        var (connection, sending) = await _application.BeginAsync(client);
        await connection.SendAsync(Record(Stdout, 1, "A: b\n\n"u8));
        using var response = await sending.Within("the head");
        byte[] body = [
            .. Enumerable.Repeat(Record(Stdout, 1, new byte[RecordSize]), Records).SelectMany(static record => record),
            .. Record(Stdout, 1),
            .. EndOfRequest()];
        var writing = connection.SendAsync(body);

        var buffer = new byte[1_000];
        var read = 0;
        while (await response.Body.ReadAsync(buffer).AsTask().Within("the body") is > 0 and var length)
        {
            read += length;
            // A record counts completely when it begins, and the client waits only between receives.
            Assert.True(
                received.Bytes - read <= 64 * 1024 + (2 * RecordSize) + (32 * 1024),
                $"{received.Bytes} received, {read} read");
            await Task.Yield();
        }

        Assert.Equal(Records * RecordSize, read);
        await writing;
    }

    public void Dispose()
    {
        _client.Dispose();
        _application.Dispose();
    }

    private FastCgiClient CreateClient(FastCgiClientOptions options) => new(_application.Address, options);

    private static async Task<(string Body, FastCgiProtocolException? Failure)> ReadAsync(
        Task<FastCgiResponseMessage> sending)
    {
        var body = "";
        try
        {
            using var response = await sending.Within("the head");
            var buffer = new byte[100];
            while (await response.Body.ReadAsync(buffer).AsTask().Within("the body") is > 0 and var length)
                body += Encoding.Latin1.GetString(buffer, 0, length);
            await response.Completion.Within("the end");
            return (body, null);
        }
        catch (FastCgiProtocolException exception)
        {
            return (body, exception);
        }
    }

    private sealed class ReceivedOutput : RecordTrace
    {
        private int _bytes;

        public int Bytes => Volatile.Read(ref _bytes);

        public override void OnRecord(int connection, bool isSent, RecordHeader header, ReadOnlySpan<byte> content)
        {
            if (!isSent && header.Type == RecordType.Stdout)
                Interlocked.Add(ref _bytes, header.ContentLength);
        }
    }
}
