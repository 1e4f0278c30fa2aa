using Microsoft.AspNetCore.Http.Features;
using Microsoft.AspNetCore.Routing;

namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>Path base and path, with the configurations in <c>docs/paths.md</c>.</summary>
public sealed class PathTests
{
    private static readonly UriCreationOptions s_asItIs = new() { DangerousDisablePathAndQueryCanonicalization = true };

    public static TheoryData<string, FastCgiPathSource, string, string> Rewrites => new()
    {
        // The block, the option, the target, and what the application sees: base|path|query.
        { "nginx rewrite", FastCgiPathSource.RequestUri, "/old/x?a=%20b", "|/old/x|?a=%20b" },
        { "nginx rewrite", FastCgiPathSource.RequestUri, "/old/x", "|/old/x|?from=old" },
        { "nginx rewrite", FastCgiPathSource.DocumentUri, "/old/x", "|/new/x|?from=old" },
        { "nginx rewrite", FastCgiPathSource.DocumentUri, "/old/x?a=%20b", "|/new/x|?from=old&a=%20b" },
        { "nginx rewrite", FastCgiPathSource.DocumentUri, "/other/a%20b%25c", "|/other/a b%c|" },
        { "nginx rewrite", FastCgiPathSource.ScriptNameAndPathInfo, "/old/x", "|/new/x|?from=old" },
        { "apache rewrite", FastCgiPathSource.RequestUri, "/old/x", "|/old/x|?from=old" },
        { "apache rewrite", FastCgiPathSource.DocumentUri, "/old/x", "|/old/x|?from=old" },
        { "apache rewrite", FastCgiPathSource.ScriptNameAndPathInfo, "/old/x", "|/new/x|?from=old" },
        { "apache rewrite", FastCgiPathSource.ScriptNameAndPathInfo, "/old/x?a=%20b", "|/new/x|?from=old&a=%20b" },
        { "apache rewrite", FastCgiPathSource.ScriptNameAndPathInfo, "/other/a%20b%25c", "|/other/a b%c|" },

        // The losses.
        { "nginx rewrite", FastCgiPathSource.RequestUri, "/a%2Fb//c", "|/a%2Fb//c|" },
        { "nginx rewrite", FastCgiPathSource.DocumentUri, "/a%2Fb//c", "|/a/b/c|" },
        { "nginx rewrite", FastCgiPathSource.ScriptNameAndPathInfo, "/a%2Fb//c", "|/a/b/c|" },
        { "apache rewrite", FastCgiPathSource.RequestUri, "/a//c", "|/a//c|" },
        { "apache rewrite", FastCgiPathSource.ScriptNameAndPathInfo, "/a//c", "|/a/c|" },
        { "apache rewrite", FastCgiPathSource.ScriptNameAndPathInfo, "/a%2Fb", "404" },
        { "apache fallback", FastCgiPathSource.ScriptNameAndPathInfo, "/item/x", "|/app|" },
    };

    [Theory]
    [InlineData("nginx path base", false)]
    [InlineData("apache path base", false)]
    [InlineData("nginx script name", true)]
    public async Task PathBase_OfTheConfiguration_IsBeforeLinks(string block, bool trustScriptName)
    {
        await using var site = await StartAsync(block, options => options.TrustScriptName = trustScriptName);
        using var client = site.CreateClient();

        Assert.Equal("/app|/item/a b|?c=d", await GetAsync(client, "/app/item/a%20b?c=d"));
        Assert.Equal(
            "/app|/item/a%2Fb|",
            await GetAsync(client, block == "apache path base" ? "/app/item/a%252Fb" : "/app/item/a%2Fb"));
        Assert.Equal("/app|/|", await GetAsync(client, "/app/"));
        Assert.Equal("/app/item/7", await GetAsync(client, "/app/link"));
        Assert.Equal("404", await GetAsync(client, "/application/link"));
    }

    /// <summary>The option applies to all requests; a path outside it is unchanged.</summary>
    [Theory, Values("nginx rewrite", "apache rewrite")]
    public async Task PathBase_OfTheOption_IsWholeSegments(string block)
    {
        await using var site = await StartAsync(block, static options => options.PathBase = "/app");
        using var client = site.CreateClient();

        Assert.Equal("/app|/item|", await GetAsync(client, "/app/item"));
        Assert.Equal("/APP|/item|", await GetAsync(client, "/APP/item"));
        Assert.Equal("/app||", await GetAsync(client, "/app"));
        Assert.Equal("|/application/item|", await GetAsync(client, "/application/item"));
        Assert.Equal("/app/item/7", await GetAsync(client, "/app/link"));
        Assert.Equal("/item/7", await GetAsync(client, "/link"));
    }

    [Theory]
    [InlineData("nginx files first")]
    [InlineData("apache files first")]
    [InlineData("apache fallback")]
    public async Task Path_FilesFirst_IsTheClients(string block)
    {
        await using var site = await StartAsync(block);
        using var client = site.CreateClient();

        Assert.Equal("a file", await GetAsync(client, "/static.txt"));
        Assert.Equal("|/item/a b|?c=d", await GetAsync(client, "/item/a%20b?c=d"));
        Assert.Equal("|/|", await GetAsync(client, "/"));
        Assert.Equal("/item/7", await GetAsync(client, "/link"));
    }

    [Theory]
    [MemberData(nameof(Rewrites))]
    public async Task PathSource_AfterARewrite_IsTheSelectedPath(
        string block, FastCgiPathSource source, string target, string expected)
    {
        await using var site = await StartAsync(block, options => options.PathSource = source);
        using var client = site.CreateClient();

        Assert.Equal(expected, await GetAsync(client, target, rawTarget: target));
    }

    private static Task<ConfiguredSite> StartAsync(string block, Action<FastCgiServerOptions>? configureServer = null)
        => DocumentedSite.StartAsync(
            "paths.md",
            block,
            static app =>
            {
                app.MapGet("/link", static (HttpContext context) =>
                    context.RequestServices.GetRequiredService<LinkGenerator>()
                        .GetPathByName(context, "item", new { id = 7 }));
                app.MapGet("/item/{id:int}", static (int id) => id).WithName("item");
                app.MapFallback("{**path}", static (HttpContext context) =>
                {
                    context.Response.Headers["X-Raw-Target"] = context.Features.Get<IHttpRequestFeature>()!.RawTarget;
                    var request = context.Request;
                    return $"{request.PathBase.Value}|{request.Path.Value}|{request.QueryString.Value}";
                });
            },
            configureServer);

    /// <returns>The response body, or the status of a refusal.</returns>
    private static async Task<string> GetAsync(HttpClient client, string target, string? rawTarget = null)
    {
        // Not normalized by System.Uri.
        using var response = await client.GetAsync(
            new Uri(client.BaseAddress!.GetLeftPart(UriPartial.Authority) + target, s_asItIs));
        if (response.StatusCode != HttpStatusCode.OK)
            return $"{(int)response.StatusCode}";

        if (rawTarget is not null)
            Assert.Equal(rawTarget, Assert.Single(response.Headers.GetValues("X-Raw-Target")));
        return await response.Content.ReadAsStringAsync();
    }
}
