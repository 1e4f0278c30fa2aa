namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>A file that the application sends, and that may be left to the web server.</summary>
public abstract class SendFileOffloadTest : IDisposable
{
    protected const int Length = 1_000;

    protected SendFileOffloadTest()
    {
        FilePath = Folder.Write("site/a file.bin", Apps.Pattern(Length));
    }

    protected ScratchFolder Folder { get; } = new();

    protected string FilePath { get; }

    protected string Root => Folder.GetPath("site");

    public void Dispose()
    {
        Folder.Dispose();
        GC.SuppressFinalize(this);
    }

    protected void UseNginx(FastCgiSendFileOptions options) => options.AddXAccelRedirect(Root, "/protected/");

    protected Task Whole(HttpContext context) => SendAsync(context, FilePath);

    protected Task WithVary(HttpContext context)
    {
        context.Response.Headers.Vary = "Accept";
        return Whole(context);
    }

    protected async Task PartAsync(HttpContext context, int offset, int count)
    {
        context.Response.StatusCode = 206;
        context.Response.ContentLength = count;
        context.Response.Headers.ContentRange = $"bytes {offset}-{offset + count - 1}/{Length}";
        await context.Response.SendFileAsync(FilePath, offset, count);
        Assert.Equal(206, context.Response.StatusCode);
    }

    protected static Task SendAsync(HttpContext context, string path)
    {
        context.Response.ContentType = "application/x-test";
        context.Response.ContentLength = Length;
        return context.Response.SendFileAsync(path);
    }

    private protected static void AssertStreamed(WireResponse response, byte[]? body = null)
    {
        Assert.Null(response["X-Accel-Redirect"]);
        Assert.Equal(body ?? Apps.Pattern(Length), response.Body);
    }

    private protected static Task<WireResponse> GetAsync(
        Action<FastCgiSendFileOptions> configure, RequestDelegate application, params (string Name, string Value)[] more)
        => GetAsync(configure, application, "GET", more);

    private protected static async Task<WireResponse> GetAsync(
        Action<FastCgiSendFileOptions> configure, RequestDelegate application, string method, params (string Name, string Value)[] more)
    {
        Exception? failure = null;
        var response = await TestServer.AskAsync(
            async context => failure = await Record.ExceptionAsync(() => application(context)),
            options => configure(options.SendFile), RecordBytes.Get(method: method, more: more));

        Assert.Null(failure);
        return response;
    }
}
