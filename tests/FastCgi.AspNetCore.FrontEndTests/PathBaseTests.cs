using Microsoft.AspNetCore.Http.Extensions;
using Microsoft.AspNetCore.Routing;

namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>The application under <c>/app</c>, which the configuration of the web server says in the parameter PATH_BASE.</summary>
public sealed class PathBaseTests(ITestOutputHelper output) : FrontEndTest(output)
{
    private static readonly UriCreationOptions s_asItIs = new() { DangerousDisablePathAndQueryCanonicalization = true };

    [Theory, EveryFrontEnd]
    public async Task PathBase_AnyTarget_WholeSegmentsAreSplitOff(FrontEndSetup setup)
    {
        (string Target, string PathBase, string Path)[] targets =
        [
            ("/app", "/app", ""),
            ("/app/", "/app", "/"),
            ("/app/a/b?c", "/app", "/a/b"),
            ("/app/app", "/app", "/app"),
            ("/app/a%2Fb//c", "/app", "/a%2Fb//c"),
            ("/application/a", "", "/application/a"),
            ("/other/app", "", "/other/app"),
        ];
        var site = await StartAsync(setup, app => app.Run(context =>
            context.Response.WriteAsync($"{context.Request.PathBase.Value}|{context.Request.Path.Value}")));

        foreach (var (target, pathBase, path) in targets)
        {
            var seen = await site.Client.GetStringAsync(new Uri(site.Url + target, s_asItIs));
            Assert.Equal((target, $"{pathBase}|{path}"), (target, seen));
        }
    }

    [Theory, EveryFrontEnd]
    public async Task Links_UnderAPathBase_AreAbsoluteAndRight(FrontEndSetup setup)
    {
        var site = await StartAsync(setup, app =>
        {
            app.MapGet("/items/{id}", (int id) => id).WithName("item");
            app.MapGet("/links", (HttpContext context, LinkGenerator links) => string.Join(' ',
                links.GetUriByName(context, "item", new { id = 7 }),
                links.GetPathByName(context, "item", new { id = 7 }),
                UriHelper.BuildAbsolute(context.Request.Scheme, context.Request.Host, context.Request.PathBase, "/signin-oauth")));
        });

        Assert.Equal($"{site.Url}/app/items/7 /app/items/7 {site.Url}/app/signin-oauth", await site.Client.GetStringAsync("/app/links"));
        Assert.Equal($"{site.Url}/items/7 /items/7 {site.Url}/signin-oauth", await site.Client.GetStringAsync("/links"));
    }
}
