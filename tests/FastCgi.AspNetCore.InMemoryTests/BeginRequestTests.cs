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
    public Task BEGIN_REQUEST_AnyId_AnsweredUnderThatId(int id) => Script.PlayAsync($"get:{id} {id}:200");

    [Theory, Values(0, 2, 3, 4, 257, 65_535)]
    public async Task BEGIN_REQUEST_RoleNotServed_OnlyUnknownRoleAndAtMostOneWarning(int role)
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Hello);

        frontEnd.Send(
            RecordBytes.Begin(7, role),
            RecordBytes.ParamsStream(7, RecordBytes.RequestParams()),
            RecordBytes.Record(RecordBytes.Stdin, 7));

        var record = Assert.Single(frontEnd.ReadAvailable());
        Assert.Equal(RecordBytes.EndRequest, record.Type);
        Assert.Equal(7, record.Id);
        Assert.Equal([0, 0, 0, 0, 3, 0, 0, 0], record.Content);

        Assert.Equal("Hello", (await frontEnd.AskAsync()).Text);
        frontEnd.Send(RecordBytes.Begin(8, role));
        Assert.Equal(3, Assert.Single(frontEnd.ReadAvailable()).Content[4]);
        // Of a role that the server can have.
        Assert.Equal(role == 2 ? 1 : 0, frontEnd.Server.Logs.Named("RoleNotServed").Count);
    }
}
