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

    private static void AddRoles(FastCgiServerOptions options) => options.Roles.Add(FastCgiRole.Authorizer);

    private static byte[] Authorize(string uri)
        => [.. RecordBytes.Begin(1, Authorizer), .. RecordBytes.ParamsStream(1, RecordBytes.RequestParams("GET", uri))];
}
