using System.Security.Claims;
using Microsoft.AspNetCore.Routing;

namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>
/// The role Authorizer (FastCGI specification, section 6.3), and roles that are not served, record by record.
/// </summary>
public class RoleTests
{
    private const int Authorizer = 2;
    private const int Filter = 3;

    [Fact]
    public async Task AUTHORIZER_Allowed_200WithVariablesAndWithoutStdin()
    {
        await using var frontEnd = await StartAsync(
            static app => app.MapFastCgiAuthorizer("/{**path}", static context =>
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
    [InlineData(400, 400)]
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
        // A refusal may still become an error page.
        Assert.Equal(expected >= 400 ? "set" : null, answer["X-Later"]);
    }

    [Fact]
    public async Task AUTHORIZER_WithContentLengthAndNoStdin_BodyIsEmptyAndConnectionIsClosedAtOnce()
    {
        await using var frontEnd = await StartAsync(
            static app => app.MapFastCgiAuthorizer("/{**path}", static async context =>
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
        Assert.Equal(
            (200, "ann", "Basic"), (allowed.Status, allowed["Variable-REMOTE_USER"], allowed["Variable-AUTH_TYPE"]));
        frontEnd.Send(Authorize("/"));
        Assert.Equal(403, (await frontEnd.ReadResponseAsync(isStatusFirst: true)).Status);
    }

    /// <summary>A Filter is not served even if it is in the options.</summary>
    [Theory]
    [InlineData(Authorizer, 1)]
    [InlineData(Filter, Filter)]
    public async Task BEGIN_REQUEST_OtherRoleInOptions_UnknownRole(int served, int role)
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Hello, options =>
        {
            options.Roles.Clear();
            options.Roles.Add((FastCgiRole)served);
        });

        frontEnd.Send(RecordBytes.Begin(1, role), RecordBytes.ParamsStream(1, RecordBytes.RequestParams()));

        Assert.Equal(3, Assert.Single(frontEnd.ReadAvailable()).Content[4]);
    }

    [Fact]
    public Task DATA_OfAResponder_Ignored() => Script.PlayAsync("post8/hash+type8+stdin4+type8+stdin4+stdin 200");

    private static Task<FrontEnd> StartAsync(Action<IEndpointRouteBuilder> map) => TestServer.ConnectAsync(
        app =>
        {
            app.UseRouting();
            app.Use(static async (context, next) =>
            {
                if (context.Request.Query["user"] is [{ } user])
                    context.User = new(new ClaimsIdentity([new(ClaimTypes.Name, user)], "Basic"));
                await next(context);
                if (!context.Response.HasStarted)
                    context.Response.Headers["X-Later"] = "set";
            });
            app.UseEndpoints(map);
        },
        AddRoles,
        AddRouting);

    private static void AddRouting(IServiceCollection services)
    {
        services.AddRouting();
        services.Configure<FastCgiServerOptions>(AddRoles);
        services.AddSingleton<MatcherPolicy, RoleMatcherPolicy>();
    }

    private static void AddRoles(FastCgiServerOptions options) => options.Roles.Add(FastCgiRole.Authorizer);

    private static byte[] Authorize(string uri)
        => [.. RecordBytes.Begin(1, Authorizer), .. RecordBytes.ParamsStream(1, RecordBytes.RequestParams("GET", uri))];

    /// <summary>
    /// The web server treats any status below 400 as permission, so only the first authorizer's response may have one.
    /// </summary>
    [Theory, Values("exception", "status", "branch", "shortcut", "redirect", "afterwards", "meanwhile", "cleared")]
    public async Task Authorizer_AnotherMiddlewareAnswers_DoesNotAllow(string how)
    {
        await using var server = await TestServer.StartAsync(Configure, AddRoles, AddRouting);
        server.Logs.Expected.UnionWith(["ApplicationError", "UnhandledException"]);

        Assert.InRange(await AskAsync("/secret"), 400, 599);
        // What the authorizer has allowed is sent, so that to clear it is too late, and cuts the answer.
        if (how != "cleared")
            Assert.Equal(how is "shortcut" or "redirect" or "meanwhile" ? 500 : 200, await AskAsync("/public"));

        async Task<int> AskAsync(string path)
        {
            var frontEnd = server.Connect();
            frontEnd.Send(RecordBytes.Begin(1, 2), RecordBytes.ParamsStream(1, RecordBytes.RequestParams("GET", path)));
            return (await frontEnd.ReadResponseAsync(isStatusFirst: true)).Status;
        }

        void Configure(IApplicationBuilder app)
        {
            if (how == "exception")
                app.UseExceptionHandler("/error");
            if (how == "status")
                app.UseStatusCodePagesWithReExecute("/error");
            app.UseRouting();
            if (how == "branch")
                app.Map(
                    "/secret", static branch => branch.Run(static context => context.Response.WriteAsync("a page")));
            if (how == "shortcut")
                app.Use(static (HttpContext context, RequestDelegate _) => context.Response.WriteAsync("maintenance"));
            if (how == "redirect")
                app.Use(static (HttpContext context, RequestDelegate _) => Task.Run(
                    () => context.Response.StatusCode = 307));
            if (how == "afterwards")
                app.Use(AllowAfterwardsAsync);
            if (how == "meanwhile")
                app.Use(static (context, next) =>
                {
                    _ = next(context);
                    return context.Response.WriteAsync("Try again later.");
                });
            if (how == "cleared")
                app.Use(static async (context, next) =>
                {
                    await next(context);
                    context.Response.Clear();
                    await context.Response.WriteAsync("Sorry.");
                });
            app.UseEndpoints(endpoints => endpoints.MapFastCgiAuthorizer("/{**path}", IsAllowed));
        }

        static async Task AllowAfterwardsAsync(HttpContext context, RequestDelegate next)
        {
            await next(context);
            if (!context.Response.HasStarted)
                context.Response.StatusCode = 200;
        }

        ValueTask<bool> IsAllowed(HttpContext context)
        {
            if (how == "meanwhile")
                return new ValueTask<bool>(Task.Delay(Timeout.Infinite, context.RequestAborted).ContinueWith(
                    static _ => false, TaskScheduler.Default));
            if (context.Request.Path != "/secret")
                return ValueTask.FromResult(true);

            return how == "exception" ? throw new InvalidOperationException(
                "This is meant to fail.") : ValueTask.FromResult(false);
        }
    }
}
