namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>Which headers of the application stay when the web server sends the file: those that it would make itself, or repeat, go.</summary>
public sealed class SendFileOffloadHeaderTests : SendFileOffloadTest
{
    [Theory, Values(false, true)]
    public async Task Offload_ToNginx_ItMakesRangeHeadersItself(bool isReplaced)
    {
        var response = await GetAsync(UseNginx, context => PartAsync(context, isReplaced), ("HTTP_RANGE", "bytes=10-19"));

        Assert.Equal("/protected/a%20file.bin", response["X-Accel-Redirect"]);
        Assert.Null(response["Content-Range"]);
        Assert.Null(response["Accept-Ranges"]);
        Assert.Equal("\"tag\"", response["ETag"]);
    }

    [Theory, Values(false, true)]
    public async Task Offload_ByXSendfile_AcceptRangesStays(bool isReplaced)
    {
        var response = await GetAsync(options => options.AddXSendFile(Root), context => PartAsync(context, isReplaced), ("HTTP_RANGE", "bytes=10-19"));

        Assert.Equal(FilePath, response["X-Sendfile"]);
        Assert.Null(response["Content-Range"]);
        Assert.Equal("bytes", response["Accept-Ranges"]);
        Assert.Equal("\"tag\"", response["ETag"]);
    }

    private Task PartAsync(HttpContext context, bool isReplaced)
    {
        if (isReplaced)
            context.Features.GetRequiredFeature<IHttpResponseFeature>().Headers = new HeaderDictionary();
        context.Response.ContentType = "application/x-test";
        context.Response.Headers.AcceptRanges = "bytes";
        context.Response.Headers.ETag = "\"tag\"";
        return PartAsync(context, 10, 10);
    }
}
