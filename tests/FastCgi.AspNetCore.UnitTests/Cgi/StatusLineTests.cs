namespace FastCgi.AspNetCore.UnitTests.Cgi;

public sealed class StatusLineTests
{
    [Theory]
    [InlineData(200, "Status: 200 OK\r\n\r\n")]
    [InlineData(204, "Status: 204 No Content\r\n\r\n")]
    [InlineData(304, "Status: 304 Not Modified\r\n\r\n")]
    [InlineData(404, "Status: 404 Not Found\r\n\r\n")]
    [InlineData(500, "Status: 500 Internal Server Error\r\n\r\n")]
    [InlineData(299, "Status: 299 Successful\r\n\r\n")]
    [InlineData(599, "Status: 599 Server Error\r\n\r\n")]
    [InlineData(399, "Status: 399 Redirection\r\n\r\n")]
    [InlineData(498, "Status: 498 Client Error\r\n\r\n")]
    [InlineData(600, "Status: 600 Unknown\r\n\r\n")]
    [InlineData(999, "Status: 999 Unknown\r\n\r\n")]
    public void Get_Status_HasItsStandardReason(int statusCode, string line)
        => Assert.Equal(line, Encoding.ASCII.GetString(StatusLine.Get(statusCode)));

    [Theory]
    [InlineData(200, "Fine", "Status: 200 Fine\r\n\r\n")]
    [InlineData(404, "", "Status: 404 Not Found\r\n\r\n")]
    [InlineData(404, "Größe fehlt", "Status: 404 Größe fehlt\r\n\r\n")]
    [InlineData(404, null, "Status: 404 Not Found\r\n\r\n")]
    public void Create_Reason_IsTheApplications(int statusCode, string? reasonPhrase, string line)
        => Assert.Equal(line, Encoding.UTF8.GetString(StatusLine.Create(statusCode, reasonPhrase)));
}
