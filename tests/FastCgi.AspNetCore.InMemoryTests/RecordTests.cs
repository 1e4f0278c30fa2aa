namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>Unusual records, records that belong to no request, and bytes that are not records.</summary>
public class RecordTests
{
    [Theory, Values(0, 2, 6, 255)]
    public async Task RECORD_BadVersion_ConnectionResetWithoutResponse(byte version)
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Hello);

        frontEnd.Send(RecordBytes.Record(RecordBytes.BeginRequest, 1, [0, 1, 0, 0, 0, 0, 0, 0], version: version));

        Assert.True(frontEnd.Transport.IsReset);
        Assert.Empty(frontEnd.Transport.Sent);
    }

    /// <summary>Of a request that has ended, and of one that never began.</summary>
    [Theory, Values(RecordBytes.Stdin, RecordBytes.Params, RecordBytes.Data, RecordBytes.AbortRequest)]
    public Task RECORD_OfAnInactiveId_IgnoredAndConnectionContinues(byte type)
        => Script.PlayAsync($"get:5 5:200 type{type}:5+type{type}:6+stdin:5+stdin:6 silent get:5 5:200");

    [Fact]
    public async Task RECORD_LargestContentAndPadding_IsSkippedWhole()
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Hello);

        // Where the sum of the lengths wraps at 16 bits, 254 bytes are skipped, and what follows is this request.
        var smuggled = new byte[65_535];
        RecordBytes.Get(9).CopyTo(smuggled, 254);
        frontEnd.Send(RecordBytes.Record(RecordBytes.Stdin, 8, smuggled, padding: 255), RecordBytes.Get(1));

        Assert.Equal("Hello", (await frontEnd.ReadResponseAsync()).Text);
        Assert.Empty(frontEnd.ReadAvailable());
    }

    [Theory, Values(3, 6, 7, 8, 9, 10, 11, 0, 12, 255)]
    public Task RECORD_UnusedTypeWithRequestId_Ignored(int type)
        => Script.PlayAsync($"type{type}+begin+type{type} silent params+type{type} 200 silent");

    [Theory, Values(1, 2, 3, 4, 5, 6, 8)]
    public Task RECORD_ApplicationTypeWithNullRequestId_ConnectionReset(int type)
        => Script.PlayAsync($"type{type}:0 reset silent");

    [Fact]
    public async Task RECORD_PaddingAndReservedBytesEverywhere_Ignored()
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.BodyHash);
        var pairs = RecordBytes.Pairs(RecordBytes.RequestParams("POST", "/", ("CONTENT_LENGTH", "65535")));
        var body = Apps.Pattern(65_535);

        frontEnd.Send(
            RecordBytes.Record(RecordBytes.BeginRequest, 1, [0, 1, 1, 0, 0, 0, 0, 0], padding: 255, reserved: 255),
            RecordBytes.Record(RecordBytes.Params, 1, pairs, padding: 1, reserved: 1),
            RecordBytes.Record(RecordBytes.Params, 1, padding: 255),
            RecordBytes.Record(RecordBytes.Stdin, 1, body, padding: 255),
            RecordBytes.Record(RecordBytes.Stdin, 1, padding: 255));

        Assert.Equal(Apps.HashOf(body), (await frontEnd.ReadResponseAsync()).Text);
    }

    [Fact]
    public async Task HTTP_OnTheFastCgiPort_OneReadableAnswerAndOneLogLine()
    {
        await using var server = await TestServer.StartAsync(Apps.Hello);
        for (var i = 0; i < 3; i++)
        {
            var frontEnd = server.Connect();
            frontEnd.Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"u8.ToArray());

            var answer = Encoding.ASCII.GetString(frontEnd.Transport.Sent);
            Assert.StartsWith("HTTP/1.1 400 Bad Request\r\n", answer);
            var body = answer[(answer.IndexOf("\r\n\r\n", StringComparison.Ordinal) + 4)..];
            Assert.Contains("FastCGI", body);
            Assert.Contains($"Content-Length: {body.Length}\r\n", answer);
            Assert.True(frontEnd.Transport.IsClosed);
        }

        var warning = Assert.Single(
            server.Logs.All, static log => log is { EventName: "WrongProtocol", Level: LogLevel.Warning });
        Assert.Contains("received HTTP", warning.Message);
        server.Clock.Advance(TimeSpan.FromMinutes(2));
        server.Connect().Send("POST / HTTP/1.1\r\n"u8.ToArray());
        Assert.Equal(2, server.Logs.Named("WrongProtocol").Count);
    }

    /// <summary>The bytes of uwsgi_pass and scgi_pass of nginx, and of neither.</summary>
    [Theory]
    [InlineData("TLS", "\u0016\u0003\u0001\u0002\0\u0001")]
    [InlineData("uwsgi", "\0S\u0001\0\f\0QUERY_STRING\0\0\u000e\0REQUEST_METHOD\u0003\0GET")]
    [InlineData("SCGI", "318:CONTENT_LENGTH\00\0REQUEST_METHOD\0GET\0")]
    [InlineData(null, "\0\u0009\0\0\0\u0008\0\0")]
    [InlineData(null, "\0\u0001\0\u0001\0\u0008\0\0")]
    [InlineData(null, "12345678:")]
    [InlineData(null, "\0")]
    public async Task OtherProtocol_OnTheFastCgiPort_ResetAndOneLogLine(string? protocol, string bytes)
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Hello);

        // A client that speaks HTTP does not hide a web server that uses another protocol.
        frontEnd.Server.Connect().Send("GET / HTTP/1.1\r\n\r\n"u8.ToArray());
        frontEnd.Send(Encoding.Latin1.GetBytes(bytes));

        Assert.True(frontEnd.Transport.IsReset);
        var warnings = frontEnd.Server.Logs.Named("WrongProtocol").Select(static log => log.Message.Split(' ')[4]);
        Assert.Equal(protocol is null ? ["HTTP"] : ["HTTP", protocol], warnings);
    }
}
