namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>Files that are left to the web server, and those that are not, because the client would get another answer.</summary>
public sealed class SendFileOffloadTests : SendFileOffloadTest
{
    [Fact]
    public async Task Offload_XAccelRedirect_HeaderAndNoBody()
    {
        var response = await GetAsync(UseNginx, Whole);

        Assert.Equal("/protected/a%20file.bin", response["X-Accel-Redirect"]);
        Assert.Equal("application/x-test", response["Content-Type"]);
        Assert.Equal(200, response.Status);
        Assert.Empty(response.Body);
    }

    [Fact]
    public async Task Offload_XSendfile_PathAndNoBody()
    {
        var response = await GetAsync(options => options.AddXSendFile(Root), Whole);

        Assert.Equal(FilePath, response["X-Sendfile"]);
        Assert.Null(response["X-Accel-Redirect"]);
        Assert.Empty(response.Body);
    }

    [Theory]
    [InlineData("bytes=100-199", 100, 100)]
    [InlineData("bytes=100-", 100, 900)]
    [InlineData("bytes=-100", 900, 100)]
    [InlineData("bytes=-5000", 0, 1_000)]
    [InlineData("bytes=0-0", 0, 1)]
    [InlineData("bytes=900-5000", 900, 100)]
    public async Task Offload_RangeOfTheClient_IsLeftToTheWebServer(string range, int offset, int count)
    {
        var response = await GetAsync(UseNginx, context => PartAsync(context, offset, count), ("HTTP_RANGE", range));

        Assert.NotNull(response["X-Accel-Redirect"]);
        Assert.Equal(200, response.Status);
        Assert.Null(response["Content-Range"]);
        Assert.Empty(response.Body);
    }

    [Theory]
    [InlineData(null)]
    [InlineData("bytes=100-198")]
    [InlineData("bytes=101-199")]
    [InlineData("bytes=100-")]
    [InlineData("bytes=-100")]
    [InlineData("bytes=100-199,300-399")]
    [InlineData("items=100-199")]
    [InlineData("nonsense")]
    public async Task Offload_PartThatTheClientDidNotAskFor_Streamed(string? range)
    {
        var response = await GetAsync(UseNginx, context => PartAsync(context, 100, 100), range is null ? [] : [("HTTP_RANGE", range)]);

        AssertStreamed(response, Apps.Pattern(Length)[100..200]);
        Assert.Equal("bytes 100-199/1000", response["Content-Range"]);
    }

    [Theory, Values("HTTP_IF_MATCH", "HTTP_IF_NONE_MATCH", "HTTP_IF_MODIFIED_SINCE", "HTTP_IF_UNMODIFIED_SINCE")]
    public async Task Offload_ConditionThatTheApplicationAnswered_Streamed(string name)
        => AssertStreamed(await GetAsync(UseNginx, Whole, (name, "\"etag\"")));

    [Fact]
    public async Task Offload_IfRange_IsLeftToTheWebServer()
        => Assert.NotNull((await GetAsync(UseNginx, Whole, ("HTTP_IF_RANGE", "\"etag\""), ("HTTP_RANGE", "bytes=1-2")))["X-Accel-Redirect"]);

    [Theory, Values(203, 404, 206)]
    public async Task Offload_StatusThatNginxWouldReplace_Streamed(int status) => AssertStreamed(await GetAsync(UseNginx, context =>
    {
        context.Response.StatusCode = status;
        return Whole(context);
    }));

    [Theory, Values(100, 0)]
    public async Task Offload_PartWithStatus200_Streamed(int offset)
    {
        var response = await GetAsync(UseNginx, context =>
        {
            context.Response.ContentLength = 100;
            return context.Response.SendFileAsync(FilePath, offset, 100);
        });

        AssertStreamed(response, Apps.Pattern(Length)[offset..(offset + 100)]);
    }

    [Fact]
    public async Task Offload_WithoutContentLength_Streamed() => AssertStreamed(await GetAsync(UseNginx, context => context.Response.SendFileAsync(FilePath)));

    [Fact]
    public async Task Offload_BehindOtherBytes_Streamed()
    {
        var response = await GetAsync(UseNginx, async context =>
        {
            context.Response.ContentLength = Length + 1;
            context.Response.BodyWriter.Write("<"u8);
            await context.Response.SendFileAsync(FilePath);
        });

        AssertStreamed(response, [(byte)'<', .. Apps.Pattern(Length)]);
    }

    [Fact]
    public async Task Offload_HeaderThatNginxWouldDrop_Streamed()
    {
        var response = await GetAsync(UseNginx, WithVary);

        AssertStreamed(response);
        Assert.Equal("Accept", response["Vary"]);
    }

    [Fact]
    public async Task Offload_HeaderThatTheLocationPasses_Offloaded()
    {
        var response = await GetAsync(
            options =>
            {
                UseNginx(options);
                options.PassedHeaders.Add("vary");
            },
            WithVary);

        Assert.NotNull(response["X-Accel-Redirect"]);
        Assert.Equal("Accept", response["Vary"]);
    }

    [Fact]
    public async Task Offload_XSendfile_KeepsEveryHeader()
    {
        var response = await GetAsync(options => options.AddXSendFile(Root), WithVary);

        Assert.NotNull(response["X-Sendfile"]);
        Assert.Equal("Accept", response["Vary"]);
    }

    [Theory, Values(false, true)]
    public async Task Offload_XSendfileOfCompressedFile_OnlyIfTheWebServerKeepsTheEncoding(bool isPassed)
    {
        var response = await GetAsync(
            options =>
            {
                options.AddXSendFile(Root);
                if (isPassed)
                    options.PassedHeaders.Add("Content-Encoding");
            },
            context =>
            {
                context.Response.Headers.ContentEncoding = "br";
                return Whole(context);
            });

        Assert.Equal(isPassed, response["X-Sendfile"] is not null);
        Assert.Equal("br", response["Content-Encoding"]);
    }

    [Fact]
    public async Task Offload_OnStartingAddsAHeader_IsSeen()
    {
        var calls = 0;
        var response = await GetAsync(UseNginx, context =>
        {
            context.Response.OnStarting(() =>
            {
                calls++;
                context.Response.Headers["X-Own"] = "value";
                return Task.CompletedTask;
            });
            return Whole(context);
        });

        AssertStreamed(response);
        Assert.Equal("value", response["X-Own"]);
        Assert.Equal(1, calls);
    }

    [Fact]
    public async Task Offload_Head_HeadersOnly()
    {
        var response = await GetAsync(UseNginx, Whole, "HEAD");

        Assert.Null(response["X-Accel-Redirect"]);
        Assert.Equal("1000", response["Content-Length"]);
    }

    /// <summary>To an authorizer's request a 200 means that access is allowed, and a file that the web server sends is a 200.</summary>
    [Theory]
    [InlineData(200, 500)]
    [InlineData(206, 500)]
    [InlineData(403, 403)]
    public async Task Offload_InAnswerToAnAuthorizersRequest_IsNeverA200(int status, int expected)
    {
        await using var frontEnd = await TestServer.ConnectAsync(
            context =>
            {
                context.Response.StatusCode = status;
                return status == 206 ? PartAsync(context, 0, 1) : Whole(context);
            },
            options =>
            {
                options.Roles.Add(FastCgiRole.Authorizer);
                options.SendFile.AddXSendFile(Root);
                UseNginx(options.SendFile);
            }, expects: "ApplicationError");

        frontEnd.Send(
            RecordBytes.Begin(1, role: 2),
            RecordBytes.ParamsStream(1, RecordBytes.RequestParams("GET", "/", ("HTTP_RANGE", "bytes=0-0"))));

        var response = await frontEnd.ReadResponseAsync(isStatusFirst: true);
        Assert.Equal(expected, response.Status);
        Assert.Null(response["X-Sendfile"]);
        Assert.Null(response["X-Accel-Redirect"]);
    }

    [Fact]
    public async Task Offload_WriteBehindIt_Refused()
    {
        var response = await GetAsync(UseNginx, async context =>
        {
            await Whole(context);
            Assert.True(context.Response.HasStarted);
            await Assert.ThrowsAsync<InvalidOperationException>(() => context.Response.WriteAsync("more"));
        });

        Assert.Empty(response.Body);
    }
}
