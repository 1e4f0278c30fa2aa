using System.Security.Claims;
using Microsoft.AspNetCore.Routing;

namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>The roles Authorizer and Filter (FastCGI specification, sections 6.3 and 6.4), record by record.</summary>
public class RoleTests
{
    private const int Authorizer = 2;
    private const int Filter = 3;

    [Fact]
    public async Task AUTHORIZER_Allowed_200WithVariablesAndWithoutStdin()
    {
        await using var frontEnd = await StartAsync(static app => app.MapFastCgiAuthorizer("/{**path}", static context =>
        {
            context.Response.SetFastCgiVariable("REMOTE_USER", "ann");
            return ValueTask.FromResult(true);
        }));

        frontEnd.Send(Authorize("/reports/1"));

        var answer = await frontEnd.ReadResponseAsync(isStatusFirst: true);
        Assert.Equal((200, "ann"), (answer.Status, answer["Variable-REMOTE_USER"]));
        Assert.Empty(answer.Body);
    }

    [Theory]
    [InlineData(200, 403)]
    [InlineData(401, 401)]
    [InlineData(302, 302)]
    public async Task AUTHORIZER_Refused_StatusIsTheRefusalsAndNoVariables(int status, int expected)
    {
        await using var frontEnd = await StartAsync(app => app.MapFastCgiAuthorizer("/{**path}", context =>
        {
            context.Response.SetFastCgiVariable("REMOTE_USER", "ann");
            context.Response.StatusCode = status;
            return ValueTask.FromResult(false);
        }));

        frontEnd.Send(Authorize("/reports/1"));

        var answer = await frontEnd.ReadResponseAsync(isStatusFirst: true);
        Assert.Equal((expected, null), (answer.Status, answer["Variable-REMOTE_USER"]));
    }

    [Fact]
    public async Task AUTHORIZER_WithContentLengthAndNoStdin_BodyIsEmptyAndConnectionIsClosedAtOnce()
    {
        await using var frontEnd = await StartAsync(static app => app.MapFastCgiAuthorizer("/{**path}", static async context =>
        {
            using var reader = new StreamReader(context.Request.Body);
            return context.Request.ContentLength is null && (await reader.ReadToEndAsync()).Length == 0;
        }));

        frontEnd.Send(
            RecordBytes.Begin(1, Authorizer, keepConnection: false),
            RecordBytes.ParamsStream(1, RecordBytes.RequestParams("POST", "/", ("CONTENT_LENGTH", "5"))));

        Assert.Equal(200, (await frontEnd.ReadResponseAsync(isStatusFirst: true)).Status);
        Assert.True(frontEnd.Transport.IsClosed);
        Assert.True(frontEnd.IsInputComplete);
    }

    [Fact]
    public async Task AUTHORIZER_NoAuthorizerForThePath_NotAllowed()
    {
        await using var frontEnd = await StartAsync(static app =>
        {
            app.MapFastCgiAuthorizer("/reports/{**path}", static _ => ValueTask.FromResult(true));
            app.MapGet("/page", static () => "a page");
        });

        frontEnd.Send(Authorize("/page"));

        Assert.Equal(404, (await frontEnd.ReadResponseAsync(isStatusFirst: true)).Status);
    }

    [Fact]
    public async Task AUTHORIZER_AnsweredBySomethingThatIsNoAuthorizer_500AndNothingOfIt()
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Hello, static options => options.Roles.Add(FastCgiRole.Authorizer));
        frontEnd.Server.Logs.Expected.Add("ApplicationError");

        frontEnd.Send(Authorize("/"));

        var answer = await frontEnd.ReadResponseAsync(isStatusFirst: true);
        Assert.Equal((500, ""), (answer.Status, answer.Text));
    }

    [Fact]
    public async Task RESPONDER_PathOfAnAuthorizer_GoesToThePage()
    {
        await using var frontEnd = await StartAsync(static app =>
        {
            app.MapFastCgiAuthorizer("/{**path}", static _ => ValueTask.FromResult(true));
            app.MapGet("/page", static () => "a page");
        });

        Assert.Equal("a page", (await frontEnd.AskAsync(RecordBytes.Get(1, "/page"))).Text);
        Assert.Equal(404, (await frontEnd.AskAsync(RecordBytes.Get(1, "/other"))).Status);
    }

    [Fact]
    public async Task AUTHORIZER_OfUsers_OnlyThoseWhoAreKnown()
    {
        await using var frontEnd = await StartAsync(static app => app.MapFastCgiAuthorizer("/{**path}"));

        frontEnd.Send(Authorize("/?user=ann"));
        var allowed = await frontEnd.ReadResponseAsync(isStatusFirst: true);
        Assert.Equal((200, "ann", "Basic"), (allowed.Status, allowed["Variable-REMOTE_USER"], allowed["Variable-AUTH_TYPE"]));
        frontEnd.Send(Authorize("/"));
        Assert.Equal(403, (await frontEnd.ReadResponseAsync(isStatusFirst: true)).Status);
    }

    [Fact]
    public async Task BEGIN_REQUEST_RoleNotInOptions_UnknownRoleAndOneWarning()
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Hello);

        frontEnd.Send(RecordBytes.Begin(1, Authorizer), RecordBytes.Begin(2, Authorizer), RecordBytes.Begin(3, 77));

        Assert.Equal([3, 3, 3], frontEnd.ReadAvailable().Select(static record => (int)record.Content[4]));
        Assert.Single(frontEnd.Server.Logs.All, static log => log.EventName == "RoleNotServed");
    }

    [Fact]
    public async Task BEGIN_REQUEST_ResponderNotInOptions_UnknownRole()
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Hello, static options =>
        {
            options.Roles.Clear();
            options.Roles.Add(FastCgiRole.Filter);
        });

        frontEnd.Send(RecordBytes.Get());

        Assert.Equal(3, Assert.Single(frontEnd.ReadAvailable()).Content[4]);
    }

    [Fact]
    public async Task FILTER_DataAfterStdin_IsAStreamWithLengthAndDate()
    {
        var file = Apps.Pattern(200_000);
        await using var frontEnd = await StartAsync(MapFilter);

        frontEnd.Send(BeginFilter("5", file.Length), RecordBytes.StdinStream(1, "query"u8));
        for (var sent = 0; sent < file.Length; sent += 50_000)
            frontEnd.Send(RecordBytes.Record(RecordBytes.Data, 1, file.AsSpan(sent, 50_000)));
        frontEnd.Send(RecordBytes.Record(RecordBytes.Data, 1));

        Assert.Equal($"query 200000 1996-04-29 {Apps.HashOf(file)}", (await frontEnd.ReadResponseAsync()).Text);
    }

    [Fact]
    public async Task FILTER_DataCutAnywhere_SameAnswer()
    {
        var file = Apps.Pattern(40);
        byte[] stream = [.. BeginFilter("2", file.Length), .. RecordBytes.StdinStream(1, "ab"u8), .. RecordBytes.Record(RecordBytes.Data, 1, file, padding: 3), .. RecordBytes.Record(RecordBytes.Data, 1)];
        await using var frontEnd = await StartAsync(MapFilter);

        for (var cut = 1; cut < stream.Length; cut += 7)
        {
            frontEnd.Send(stream[..cut]);
            frontEnd.Send(stream[cut..]);
            Assert.EndsWith(Apps.HashOf(file), (await frontEnd.ReadResponseAsync()).Text, StringComparison.Ordinal);
        }
    }

    [Fact]
    public async Task FILTER_LessDataThanItsLength_ReadFailsWith400()
    {
        await using var frontEnd = await StartAsync(MapFilter);
        frontEnd.Server.Logs.Expected.Add("ApplicationError");

        frontEnd.Send(BeginFilter("0", 100), RecordBytes.Record(RecordBytes.Stdin, 1), RecordBytes.Record(RecordBytes.Data, 1, new byte[99]), RecordBytes.Record(RecordBytes.Data, 1));

        Assert.Equal(400, (await frontEnd.ReadResponseAsync()).Status);
    }

    [Fact]
    public async Task FILTER_DataNotRead_ReceivingPausesAndAnswerIsSent()
    {
        var go = Waiting.Signal();
        await using var frontEnd = await TestServer.ConnectAsync(
            async context => await go.Task,
            FilterWithWindow);

        frontEnd.Send(BeginFilter("0", 100_000), RecordBytes.Record(RecordBytes.Stdin, 1), RecordBytes.Record(RecordBytes.Data, 1, new byte[20_000]));
        Assert.True(frontEnd.IsPaused);
        go.SetResult();

        Assert.Equal(200, (await frontEnd.ReadResponseAsync()).Status);
        Assert.False(frontEnd.IsInputComplete);
    }

    /// <summary>Not only who waits for more has made room for it.</summary>
    [Fact]
    public async Task FILTER_DataReadDownToTheWindow_ReceivingResumes()
    {
        var (read, go) = (Waiting.Signal(), Waiting.Signal());
        await using var frontEnd = await TestServer.ConnectAsync(
            async context =>
            {
                await read.Task;
                await context.Features.Get<IFastCgiFilterFeature>()!.Data.ReadExactlyAsync(new byte[10_000]);
                await go.Task;
            },
            FilterWithWindow);
        frontEnd.Send(BeginFilter("0", 100_000), RecordBytes.Record(RecordBytes.Stdin, 1), RecordBytes.Record(RecordBytes.Data, 1, new byte[20_000]));
        Assert.True(frontEnd.IsPaused);

        read.SetResult();

        await frontEnd.Transport.WaitUntilAsync(() => frontEnd.Transport.ResumeCount == 1, "receiving to be resumed");
        go.SetResult();
        await frontEnd.ReadResponseAsync();
    }

    [Fact]
    public async Task FILTER_Aborted_ReadOfDataFails()
    {
        var failed = Waiting.Signal<Exception>();
        await using var frontEnd = await TestServer.ConnectAsync(
            async context =>
            {
                var data = context.Features.Get<IFastCgiFilterFeature>()!.Data;
                failed.SetResult(await Assert.ThrowsAnyAsync<Exception>(async () => await data.CopyToAsync(Stream.Null)));
            },
            static options => options.Roles.Add(FastCgiRole.Filter));

        frontEnd.Send(BeginFilter("0", 100), RecordBytes.Record(RecordBytes.Data, 1, new byte[10]));
        frontEnd.Send(RecordBytes.Abort());

        Assert.IsType<ConnectionResetException>(await failed.Task.Within("the read to fail"));
    }

    [Fact]
    public async Task DATA_OfAResponder_Ignored()
    {
        await using var frontEnd = await TestServer.ConnectAsync(static context =>
            context.Response.WriteAsync($"{context.Features.Get<IFastCgiFilterFeature>() is null}"));

        frontEnd.Send(RecordBytes.Begin(), RecordBytes.Record(RecordBytes.Data, 1, new byte[10]), RecordBytes.ParamsStream(1, RecordBytes.RequestParams()), RecordBytes.Record(RecordBytes.Data, 1));

        Assert.Equal("True", (await frontEnd.ReadResponseAsync()).Text);
    }

    private static void MapFilter(IEndpointRouteBuilder app) => app.Map("/{**path}", static async context =>
    {
        using var reader = new StreamReader(context.Request.Body, Encoding.ASCII);
        var query = await reader.ReadToEndAsync();
        var filter = context.Features.Get<IFastCgiFilterFeature>()!;
        using var file = new MemoryStream();
        await filter.Data.CopyToAsync(file);
        await context.Response.WriteAsync($"{query} {filter.DataLength} {filter.DataLastModified:yyyy-MM-dd} {Apps.HashOf(file.ToArray())}");
    }).WithFastCgiRole(FastCgiRole.Filter);

    private static Task<FrontEnd> StartAsync(Action<IEndpointRouteBuilder> map) => TestServer.ConnectAsync(
        app =>
        {
            app.UseRouting();
            app.Use(static (context, next) =>
            {
                if (context.Request.Query["user"] is [{ } user])
                    context.User = new(new ClaimsIdentity([new(ClaimTypes.Name, user)], "Basic"));
                return next(context);
            });
            app.UseEndpoints(map);
        },
        AddRoles,
        static services =>
        {
            services.AddRouting();
            services.Configure<FastCgiServerOptions>(AddRoles);
            services.AddSingleton<MatcherPolicy, RoleMatcherPolicy>();
        });

    private static void AddRoles(FastCgiServerOptions options)
    {
        options.Roles.Add(FastCgiRole.Authorizer);
        options.Roles.Add(FastCgiRole.Filter);
    }

    private static byte[] Authorize(string uri) => [.. RecordBytes.Begin(1, Authorizer), .. RecordBytes.ParamsStream(1, RecordBytes.RequestParams("GET", uri))];

    private static byte[] BeginFilter(string contentLength, int dataLength) =>
    [
        .. RecordBytes.Begin(1, Filter),
        .. RecordBytes.ParamsStream(1, RecordBytes.RequestParams(
            "POST", "/filtered", ("CONTENT_LENGTH", contentLength), ("FCGI_DATA_LENGTH", $"{dataLength}"), ("FCGI_DATA_LAST_MOD", "830736000"))),
    ];

    private static void FilterWithWindow(FastCgiServerOptions options)
    {
        options.Roles.Add(FastCgiRole.Filter);
        options.Limits.MaxRequestBufferSize = 10_000;
    }
}
