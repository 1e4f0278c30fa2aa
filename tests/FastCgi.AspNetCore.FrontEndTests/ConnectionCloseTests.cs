namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>How the server ends a connection that the web server does not keep.</summary>
public sealed class ConnectionCloseTests
{
    [Fact]
    public async Task EndRequest_WithoutKeepConn_ConnectionIsClosedAndNotReset()
    {
        await using var application = await TestApplication.StartAsync(
            "fastcgi://127.0.0.1:0", app => app.MapGet("/", () => "Hello"));
        using var client = await FastCgiClient.ConnectAsync(application.EndPoint);

        await client.SendAsync("/", keepConnection: false);

        Assert.Equal("Hello", await client.ReadTextAsync());
        // A reset would be an exception.
        Assert.Null(await client.ReadRecordAsync());
        application.Log.Verify();
    }
}
