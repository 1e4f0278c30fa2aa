using Microsoft.AspNetCore.Authorization;

namespace FastCgi.AspNetCore.InMemoryTests.Status;

/// <summary>Who may see the status, and in which form.</summary>
public sealed class StatusEndpointTests
{
    private const string Html = "text/html; charset=utf-8";
    private const string Json = "application/json";
    private const string Plain = "text/plain; charset=utf-8";

    [Theory]
    [InlineData("", "", Html)]
    [InlineData("?format=json", "text/html", Json)]
    [InlineData("?json", "", Json)]
    [InlineData("?html", Json, Html)]
    [InlineData("?format=html&json", "", Html)]
    [InlineData("", "Application/JSON", Json)]
    [InlineData("", "text/plain, */*;q=0.1", Html)]
    [InlineData("", "text/html;q=0.5, application/json;q=0.7, text/plain;q=0.9", Json)]
    [InlineData("", "application/json;q=0.9, text/html", Html)]
    [InlineData("", "application/json;q=0, */*", Html)]
    [InlineData("", "nonsense", Html)]
    public async Task Format_InTheQueryOrTheAcceptHeader_IsUsed(string query, string accept, string contentType)
    {
        await using var run = await ServerRun.StartAsync(Apps.Hello);

        var (status, response, body) = await AskAsync(run.Host.Services, request =>
        {
            request.QueryString = new QueryString(query);
            if (accept.Length > 0)
                request.Headers.Accept = accept;
        });

        Assert.Equal((200, contentType), (status, response.ContentType));
        Assert.Equal(
            ("no-store", "nosniff"),
            (response.Headers.CacheControl.ToString(), response.Headers.XContentTypeOptions.ToString()));
        Assert.Equal(contentType == Html, response.Headers.ContainsKey("Content-Security-Policy"));
        Assert.StartsWith(contentType == Json ? "{" : "<!doctype html>", body, StringComparison.OrdinalIgnoreCase);
    }

    [Theory, Values("?format=xml", "?format=", "?format=json&format=html")]
    public async Task Format_Unknown_IsABadRequest(string query)
    {
        await using var run = await ServerRun.StartAsync(Apps.Hello);

        var (status, response, body) = await AskAsync(
            run.Host.Services, request => request.QueryString = new QueryString(query));

        Assert.Equal((400, Plain, "Unknown format. Use html or json.\n"), (status, response.ContentType, body));
    }

    [Theory]
    [InlineData("GET", 200)]
    [InlineData("HEAD", 200)]
    [InlineData("POST", 405)]
    [InlineData("OPTIONS", 405)]
    public async Task Method_OtherThanGetAndHead_IsRefused(string method, int statusCode)
    {
        await using var run = await ServerRun.StartAsync(Apps.Hello);

        var (status, response, body) = await AskAsync(run.Host.Services, request => request.Method = method);

        Assert.Equal(statusCode, status);
        Assert.Equal(statusCode == 405 ? "GET, HEAD" : "", response.Headers.Allow.ToString());
        Assert.Equal(statusCode == 405, body.Length == 0);
    }

    /// <summary>
    /// Without authorization metadata on the endpoint, the status is only for Development. That a client is local says
    /// nothing: a proxy on the machine may have passed its request. With metadata, authorization decides: if it did not
    /// run, routing fails the request. RequireAuthorization adds the attribute beside a policy; a policy alone does not
    /// count.
    /// </summary>
    [Theory]
    [InlineData("Development", "192.0.2.7", null, true)]
    [InlineData("Production", "127.0.0.1", null, false)]
    [InlineData("Staging", "::1", null, false)]
    [InlineData("Production", "192.0.2.7", "attribute", true)]
    [InlineData("Production", "192.0.2.7", "anonymous", true)]
    [InlineData("Production", "192.0.2.7", "policy", false)]
    [InlineData("Production", "192.0.2.7", "other", false)]
    public async Task Client_IsAllowedInDevelopmentOrByTheEndpoint(
        string environment, string address, string? metadata, bool isAllowed)
    {
        await using var run = await ServerRun.StartAsync(Apps.Hello, environment: environment);
        object? item = metadata switch
        {
            null => null,
            "attribute" => new AuthorizeAttribute(),
            "anonymous" => new AllowAnonymousAttribute(),
            "policy" => new AuthorizationPolicyBuilder().RequireAssertion(static _ => true).Build(),
            _ => "something else",
        };

        var (status, response, body) = await AskAsync(run.Host.Services, request =>
        {
            request.HttpContext.Connection.RemoteIpAddress = IPAddress.Parse(address);
            request.HttpContext.SetEndpoint(
                item is null ? null : new Endpoint(null, new EndpointMetadataCollection(item), "status"));
        });

        Assert.Equal(isAllowed ? 200 : 403, status);
        Assert.Equal(isAllowed ? Html : Plain, response.ContentType);
        Assert.Equal(!isAllowed, body.StartsWith(
            "Outside Development, the application must specify who may see the status: ", StringComparison.Ordinal));
        Assert.Equal(!isAllowed, body.EndsWith("app.MapFastCgiStatus().RequireAuthorization(\"policy\"), or "
            + ".AllowAnonymous() if the web server restricts access.\n", StringComparison.Ordinal));
    }

    [Fact]
    public async Task Server_OtherOrNotStarted_IsReported()
    {
        await using var run = ServerRun.Make(Apps.Hello);
        using var none = new ServiceCollection().BuildServiceProvider();

        Assert.Equal(
            (503, "No status is available because FastCGI has not started.\n"), await AskShortAsync(run.Host.Services));
        Assert.Equal(
            (503, "No status is available, because the application does not use FastCgi.AspNetCore.\n"),
            await AskShortAsync(none));

        static async Task<(int, string)> AskShortAsync(IServiceProvider services)
        {
            var (status, response, body) = await AskAsync(services, static _ => { });
            Assert.Equal(Plain, response.ContentType);
            return (status, body);
        }
    }

    [Fact]
    public async Task Reader_WithoutAHost_HasADefaultName()
    {
        await using var run = await ServerRun.StartAsync(Apps.Hello);
        using var none = new ServiceCollection().BuildServiceProvider();

        var status = StatusEndpoint.MakeReader(run.Server, none).Read()!;

        Assert.Equal("FastCGI application", status.Application);
    }

    private static async Task<(int Status, HttpResponse Response, string Body)> AskAsync(
        IServiceProvider services, Action<HttpRequest> set)
    {
        using var body = new MemoryStream();
        var context = new DefaultHttpContext { RequestServices = services };
        context.Request.Method = "GET";
        context.Connection.RemoteIpAddress = IPAddress.Loopback;
        context.Response.Body = body;
        context.SetEndpoint(
            new Endpoint(null, new EndpointMetadataCollection(new AllowAnonymousAttribute()), "status"));
        set(context.Request);
        await StatusEndpoint.RespondAsync(context);
        return (context.Response.StatusCode, context.Response, Encoding.UTF8.GetString(body.ToArray()));
    }
}
