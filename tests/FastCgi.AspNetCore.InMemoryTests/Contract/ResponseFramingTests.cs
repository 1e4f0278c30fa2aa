namespace FastCgi.AspNetCore.InMemoryTests.Contract;

/// <summary>Response length, statuses and methods without a body, and headers reserved for the server.</summary>
public class ResponseFramingTests
{
    /// <summary>In the headers too, for code that reads them later.</summary>
    [Theory]
    [Contract("C1")]
    [InlineData("GET", 200, "0")]
    [InlineData("GET", 205, "0")]
    [InlineData("GET", 404, "0")]
    [InlineData("POST", 200, "0")]
    [InlineData("GET", 204, null)]
    [InlineData("GET", 304, null)]
    [InlineData("HEAD", 200, null)]
    public async Task ContentLength_NothingWritten_ZeroWhereABodyCouldBe(string method, int status, string? length)
    {
        var answer = await Parity.AssertAsync(
            (context, seen) =>
            {
                context.Response.StatusCode = status;
                context.Response.OnCompleted(Apps.Do(() => seen.Note("length", context.Response.ContentLength)));
            },
            new TestRequest(method));

        Assert.Equal((status, length), (answer.Outcome.Status, answer.Outcome["Content-Length"]));
    }

    [Theory, Values("advance", "write")]
    [Contract("C2")]
    public async Task ContentLength_BodyWritten_SentWhereItIsKnown(string how)
    {
        var answer = await Parity.AssertAsync(async (context, seen) =>
        {
            context.Response.OnCompleted(Apps.Do(() => seen.Note("length", context.Response.ContentLength)));
            if (how == "advance")
                context.Response.BodyWriter.Write("abc"u8);
            else
                await context.Response.Body.WriteAsync("abc"u8.ToArray());
        });

        Assert.Equal(("abc", "3"), (answer.Outcome.Text, answer.Outcome["Content-Length"]));
    }

    [Theory, Values("write", "advance", "two writes")]
    [Contract("C3")]
    public async Task ContentLength_TooManyBytes_ThrowsAndNoneOfThemSent(string how) => await Parity.AssertAsync(
        async (context, seen) =>
        {
            var response = context.Response;
            response.ContentLength = 3;
            if (how == "two writes")
                await response.Body.WriteAsync("ab"u8.ToArray());
            await seen.TryAsync(how, async () =>
            {
                if (how == "advance")
                    response.BodyWriter.Write("abcd"u8);
                else
                    await response.Body.WriteAsync("abcd"u8.ToArray());
            });
            seen.Note("started", response.HasStarted);
        });

    [Theory]
    [Contract("C4", "T14")]
    [InlineData("GET", 200, true)]
    [InlineData("GET", 304, false)]
    [InlineData("HEAD", 200, false)]
    public async Task ContentLength_TooFewBytes_CutUnlessThereIsNoBody(string method, int status, bool isCut)
    {
        var answer = await Parity.AssertAsync(
            async (context, _) =>
            {
                context.Response.StatusCode = status;
                context.Response.ContentLength = 10;
                if (status == 200)
                    await context.Response.Body.WriteAsync("four"u8.ToArray());
            },
            new TestRequest(method));

        Assert.Equal((isCut, "10"), (answer.Outcome.IsCut, answer.Outcome["Content-Length"]));
    }

    [Theory, Values(true, false)]
    [Contract("C4")]
    public async Task Complete_TooFewBytes_Throws(bool isAsync) => await Parity.AssertAsync(async (context, seen) =>
    {
        context.Response.ContentLength = 10;
        await seen.TryAsync("complete", async () =>
        {
            if (isAsync)
                await context.Response.BodyWriter.CompleteAsync();
            else
                context.Response.BodyWriter.Complete();
        });
    });

    [Theory, Values("write", "advance", "advance after start")]
    [Contract("C5", "I18", "T35")]
    public async Task HEAD_BodyWritten_SwallowedAndCounted(string how)
    {
        var (kestrel, ours) = await Parity.RunAsync(WriteAsync, new TestRequest("HEAD"));
        Assert.Equal(kestrel.Observed, ours.Observed);
        Assert.Equal(("", "5"), (ours.Outcome.Text, ours.Outcome["Content-Length"]));
        Assert.Equal(kestrel.Measurement, ours.Measurement);

        await using var frontEnd = await TestServer.ConnectAsync(context => WriteAsync(context, new Observations()));
        Assert.Empty((await frontEnd.AskAsync(RecordBytes.Get(method: "HEAD"))).Body);
        Assert.Contains("5 bytes", (await frontEnd.Server.Logs.SingleAsync("HeadBodyWritten")).Message);

        async Task WriteAsync(HttpContext context, Observations seen)
        {
            var response = context.Response;
            response.ContentLength = 5;
            if (how == "advance after start")
                await response.StartAsync();
            await seen.TryAsync("first", () => PutAsync(response, "abc"));
            await seen.TryAsync("second", () => PutAsync(response, "de"));
            await seen.TryAsync("too much", () => PutAsync(response, "f"));
        }

        async Task PutAsync(HttpResponse response, string text)
        {
            if (how == "write")
                await response.Body.WriteAsync(Apps.Utf8(text));
            else
                response.BodyWriter.Write(Apps.Utf8(text));
        }
    }

    [Theory, Values(204, 205, 304)]
    [Contract("C6")]
    public async Task Body_WrittenWhereThereIsNone_Throws(int status) => await Parity.AssertAsync(
        async (context, seen) =>
        {
            var response = context.Response;
            response.StatusCode = status;
            await seen.TryAsync("write", () => response.Body.WriteAsync("a"u8.ToArray()).AsTask());
            seen.Note("started", response.HasStarted);
            seen.Try("advance", () => response.BodyWriter.Write("a"u8));
            // Kestrel has noted a length of 0 for a 205 by now, and complains of that.
            if (status == 205)
                return;
            await seen.TryAsync("write again", () => response.BodyWriter.WriteAsync("a"u8.ToArray()).AsTask());
            await seen.TryAsync("write nothing", () => response.BodyWriter.WriteAsync(Array.Empty<byte>()).AsTask());
        });

    [Theory]
    [Contract("C6", "T36")]
    [InlineData(204, 1, true)]
    [InlineData(204, 1, false)]
    [InlineData(204, 0, true)]
    [InlineData(204, 0, false)]
    [InlineData(205, 1, true)]
    [InlineData(205, 1, false)]
    [InlineData(205, 0, true)]
    [InlineData(304, 7, true)]
    [InlineData(304, 7, false)]
    public async Task ContentLength_WhereThereIsNoBody_AsKestrel(int status, int length, bool starts)
        => await Parity.AssertAsync(async (context, seen) =>
        {
            context.Response.StatusCode = status;
            context.Response.ContentLength = length;
            context.Response.ContentType = "text/plain";
            if (starts)
                await seen.TryAsync("start", () => context.Response.StartAsync());
            seen.Note("length", context.Response.ContentLength);
        });

    /// <summary>As on Kestrel, a length that more bytes have passed is an error only where a body follows.</summary>
    [Theory]
    [InlineData("HEAD", 200, false)]
    [InlineData("GET", 304, false)]
    [InlineData("GET", 200, false)]
    [InlineData("GET", 200, true)]
    public async Task ContentLength_SetAfterMoreBytes_IsAnErrorIfThereIsABody(string method, int status, bool isFlushed)
    {
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            context.Response.StatusCode = status;
            context.Response.BodyWriter.Write(new byte[20]);
            context.Response.ContentLength = 10;
            if (isFlushed)
                await context.Response.BodyWriter.FlushAsync();
        }, expects: "ApplicationError");

        var hasBody = (method, status) == ("GET", 200);
        Assert.Equal(hasBody ? 500 : status, (await frontEnd.AskAsync(RecordBytes.Get(method: method))).Status);
        Assert.Equal(hasBody, frontEnd.Server.Logs.Named("ApplicationError").Count > 0);
    }

    [Fact]
    [Contract("C7", "C8", "T15", "I41")]
    public async Task Headers_OfTheConnection_DroppedWithOneWarning()
    {
        await using var frontEnd = await TestServer.ConnectAsync(static context =>
        {
            var headers = context.Response.Headers;
            headers.Connection = "close";
            headers.TransferEncoding = "chunked";
            headers.KeepAlive = "timeout=5";
            headers.Upgrade = "h2c";
            headers.ProxyConnection = "close";
            headers.Trailer = "X-End";
            headers["Status"] = "404 Not Found";
            headers["X-Nulls"] = new string?[] { "a", null, "b" };
            headers["X-None"] = Array.Empty<string>();
            headers["X-Kept"] = "1";
            return context.Response.WriteAsync("Hello");
        });

        var response = await frontEnd.AskAsync();
        Assert.Equal((200, "Hello"), (response.Status, response.Text));
        Assert.Equal(
            ["X-Nulls", "X-Nulls", "X-Kept", "Content-Length"], response.Headers.Select(static header => header.Key));
        var warning = await frontEnd.Server.Logs.SingleAsync("HeadersDropped");
        Assert.Equal(LogLevel.Warning, warning.Level);
        Assert.Contains(
            "Connection, Transfer-Encoding, Keep-Alive, Upgrade, Proxy-Connection, Trailer, Status",
            warning.Message);
    }

    [Fact]
    [Contract("C9", "T34")]
    public async Task DateAndServer_NotSet_LeftToTheFrontEnd()
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Do(static context =>
        {
            if (context.Request.Path == "/own")
            {
                context.Response.Headers.Date = "Thu, 01 Jan 1970 00:00:00 GMT";
                context.Response.Headers.Server = "mine";
            }
        }));

        var none = await frontEnd.AskAsync();
        var own = await frontEnd.AskAsync(RecordBytes.Get(uri: "/own"));

        Assert.Equal((null, null), (none["Date"], none["Server"]));
        Assert.Equal(("Thu, 01 Jan 1970 00:00:00 GMT", "mine"), (own["Date"], own["Server"]));
    }

    [Theory]
    [Contract("C10", "C11")]
    [InlineData(101, 500)]
    [InlineData(199, 500)]
    [InlineData(-1, 500)]
    [InlineData(1_000, 500)]
    [InlineData(599, 599)]
    [InlineData(999, 999)]
    public async Task StatusCode_OutOfRange_500AndLogged(int status, int sent)
    {
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            context.Response.StatusCode = status;
            if (status != sent)
                await Assert.ThrowsAsync<InvalidOperationException>(() => context.Response.StartAsync());
        }, expects: "ApplicationError");

        Assert.Equal(sent, (await frontEnd.AskAsync()).Status);
        Assert.Equal(status != sent, frontEnd.Server.Logs.Named("ApplicationError").Count > 0);
    }
}
