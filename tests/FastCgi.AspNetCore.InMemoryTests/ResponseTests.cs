namespace FastCgi.AspNetCore.InMemoryTests;

public class ResponseTests
{
    [Fact]
    public async Task Write_OfAResponseThatCannotStart_IsNotCounted()
    {
        var response = await TestServer.AskAsync(static async context =>
        {
            context.Response.StatusCode = 204;
            context.Response.ContentLength = 5;
            await Assert.ThrowsAsync<InvalidOperationException>(
                () => context.Response.Body.WriteAsync("hello"u8.ToArray()).AsTask());
            context.Response.StatusCode = 200;
            await context.Response.Body.WriteAsync("hello"u8.ToArray());
        });

        Assert.Equal("hello", response.Text);
    }

    [Theory]
    [InlineData(200, "Hello")]
    [InlineData(204, "")]
    public async Task Exception_WhenTheResponseIsWritten_Complete(int status, string body)
    {
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            context.Response.StatusCode = status;
            if (body.Length > 0)
                context.Response.ContentLength = body.Length;
            await context.Response.StartAsync();
            await context.Response.WriteAsync(body);
            throw new InvalidOperationException("It failed after the response.");
        }, expects: "ApplicationError");

        var response = await frontEnd.AskAsync();
        Assert.Equal((status, body), (response.Status, response.Text));
        Assert.False(frontEnd.Transport.IsClosed);
    }
}
