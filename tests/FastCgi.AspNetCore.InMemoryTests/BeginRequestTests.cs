namespace FastCgi.AspNetCore.InMemoryTests;

public class BeginRequestTests
{
    [Fact]
    public async Task BEGIN_REQUEST_Responder_AnsweredInOneSend()
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Hello);

        var response = await frontEnd.AskAsync();
        Assert.Equal("200 OK", response.StatusLine);
        Assert.Equal("Hello", response.Text);
        Assert.Equal("5", response["Content-Length"]);
        Assert.Equal(0u, response.AppStatus);
        Assert.Equal(0, response.ProtocolStatus);
        Assert.Equal(1, frontEnd.Transport.SendCount);
    }

    [Theory, Values(1, 2, 255, 256, 65_535)]
    public async Task BEGIN_REQUEST_AnyId_AnsweredUnderThatId(int id)
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Hello);

        frontEnd.Send(RecordBytes.Get(id));

        Assert.Equal("Hello", (await frontEnd.ReadResponseAsync(id)).Text);
    }

    [Theory, Values(0, 2, 3, 4, 257, 65_535)]
    public async Task BEGIN_REQUEST_RoleNotServed_UnknownRoleAndNothingElse(int role)
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Hello);

        frontEnd.Send(RecordBytes.Begin(7, role), RecordBytes.ParamsStream(7, RecordBytes.RequestParams()), RecordBytes.Record(RecordBytes.Stdin, 7));

        var record = Assert.Single(frontEnd.ReadAvailable());
        Assert.Equal(RecordBytes.EndRequest, record.Type);
        Assert.Equal(7, record.Id);
        Assert.Equal([0, 0, 0, 0, 3, 0, 0, 0], record.Content);

        Assert.Equal("Hello", (await frontEnd.AskAsync()).Text);
    }

    [Fact]
    public async Task BEGIN_REQUEST_UnknownFlagsAndReservedBytes_Ignored()
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Hello);

        frontEnd.Send(
            RecordBytes.Record(RecordBytes.BeginRequest, 1, [0, 1, 0xFF, 9, 9, 9, 9, 9], padding: 3, reserved: 0xAA),
            RecordBytes.ParamsStream(1, RecordBytes.RequestParams()));

        Assert.Equal("Hello", (await frontEnd.ReadResponseAsync()).Text);
        Assert.False(frontEnd.Transport.IsClosed);
    }

    [Theory, Values(0, 7, 9, 100)]
    public async Task BEGIN_REQUEST_WrongLength_ConnectionReset(int length)
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Hello);

        frontEnd.Send(RecordBytes.Record(RecordBytes.BeginRequest, 1, new byte[length]));

        Assert.True(frontEnd.Transport.IsReset);
        Assert.Empty(frontEnd.Transport.Sent);
    }

    [Fact]
    public async Task BEGIN_REQUEST_SameIdAtOnceAfterEnd_Answered()
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Target);

        for (var i = 0; i < 300; i++)
            Assert.Equal($"GET /{i}", (await frontEnd.AskAsync(RecordBytes.Get(uri: $"/{i}"))).Text);
    }

    [Fact]
    public async Task BEGIN_REQUEST_ThousandsOfIdsInTurn_TableDoesNotGrow()
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Hello);

        for (var id = 1; id <= 65_535; id += 97)
        {
            frontEnd.Send(RecordBytes.Get(id));
            Assert.Equal("Hello", (await frontEnd.ReadResponseAsync(id)).Text);
        }
    }
}
