using Microsoft.AspNetCore.Http.Extensions;

namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>How requests reach the application.</summary>
public sealed class RequestTests(ITestOutputHelper output) : FrontEndTest(output)
{
    private static readonly UriCreationOptions s_asItIs = new() { DangerousDisablePathAndQueryCanonicalization = true };

    [Theory, EveryFrontEnd]
    public async Task Send_AnyMethodAndTarget_PathIsDecodedOnceAndQueryIsRaw(FrontEndSetup setup)
    {
        (string Target, string Path, string Query)[] targets =
        [
            ("/", "/", ""),
            ("/a/b", "/a/b", ""),
            ("/a/", "/a/", ""),
            ("/a//b", "/a//b", ""),
            ("/%61%20b+c", "/a b+c", ""),
            ("/a%2Fb", "/a%2Fb", ""),
            ("/%25%34%31", "/%41", ""),
            ("/%C3%A9t%C3%A9", "/été", ""),
            ("/a/./b/../c", "/a/c", ""),
            ("/a/%2e%2e/b", "/b", ""),
            ("/a;b,c@d", "/a;b,c@d", ""),
            ("/p?", "/p", "?"),
            ("/p?x=%20%2F;y=+&&z?", "/p", "?x=%20%2F;y=+&&z?"),
            ("/p?../x", "/p", "?../x"),
        ];
        string[] methods = ["GET", "DELETE", "OPTIONS", "PATCH", "PUT", "PROPFIND"];
        var site = await StartAsync(setup, app => app.Run(context => context.Response.WriteAsync(
            $"{context.Request.Method} {context.Request.Path.Value} {context.Request.QueryString.Value}")));
        foreach (var (target, path, query) in targets)
        {
            var seen = await site.Client.GetStringAsync(new Uri(site.Url + target, s_asItIs));
            Assert.Equal((target, $"GET {path} {query}"), (target, seen));
        }

        foreach (var method in methods)
        {
            using var request = new HttpRequestMessage(new HttpMethod(method), "/");
            using var response = await site.Client.SendAsync(request);
            Assert.Equal($"{method} / ", await response.Content.ReadAsStringAsync());
        }
    }

    [Theory, EveryFrontEnd(Needs = [Ability.TargetThatIsNoText])]
    public async Task Get_TargetIsNotUtf8_StaysEscaped(FrontEndSetup setup)
    {
        var site = await StartAsync(
            setup, app => app.Run(context => context.Response.WriteAsync(context.Request.Path.Value!)));

        Assert.Equal("/%FF", await site.Client.GetStringAsync(new Uri(site.Url + "/%FF", s_asItIs)));
    }

    /// <summary>HAProxy's parameters contain the path three times, the query twice, and the Referer once.</summary>
    [Fact]
    public async Task Get_TargetUnsupportedByHaProxy_Is500()
    {
        (string Target, string Referer, int Status)[] requests =
        [
            ("/" + new string('a', 5_200), "", 200), ("/" + new string('a', 5_500), "", 500),
            ("/?" + new string('a', 7_800), "", 200), ("/?" + new string('a', 8_100), "", 500),
            ("/" + new string('a', 3_950), new string('a', 3_950), 200),
            ("/" + new string('a', 4_150), new string('a', 4_150), 500),
            ("/?" + new string('a', 5_200), new string('a', 5_200), 200),
            ("/?" + new string('a', 5_500), new string('a', 5_500), 500),
            ("/?%", "", 200), ("/a%", "", 500), ("/a%zz", "", 500),
        ];
        var site = await StartAsync(
            new FrontEndSetup { Kind = FrontEndKind.HaProxy, IsDocumented = true },
            static app => app.Run(static context => context.Response.WriteAsync("seen")));

        foreach (var (target, referer, status) in requests)
        {
            using var client = await site.ConnectAsync();
            await client.SendAsync(
                $"GET {target} HTTP/1.1\r\nHost: localhost\r\nReferer: {referer}\r\nConnection: close\r\n\r\n");
            Assert.StartsWith($"HTTP/1.1 {status} ", await client.ReadToEndAsync());
        }
    }

    [Theory, EveryFrontEnd(IsHttp1 = true)]
    public async Task Get_AbsoluteTarget_IsCutToThePath(FrontEndSetup setup)
    {
        var site = await StartAsync(setup, app => app.Run(context =>
            context.Response.WriteAsync($"seen: {context.Request.GetEncodedUrl()}")));
        using var client = await site.ConnectAsync();

        await client.SendAsync(
            "GET http://www.example.test/a/b?c HTTP/1.1\r\nHost: www.example.test\r\nConnection: close\r\n\r\n");

        Assert.Contains("seen: http://www.example.test/a/b?c", await client.ReadToEndAsync());
    }

    // As Kestrel does it; most web servers let the bytes through.
    [Theory, EveryFrontEnd(IsHttp1 = true, Needs = [Ability.RawTarget])]
    public async Task Get_TargetIsNotAscii_IsRefused(FrontEndSetup setup)
    {
        var site = await StartAsync(setup, app => app.Run(context => context.Response.WriteAsync("not reached")));
        using var client = await site.ConnectAsync();

        await client.SendAsync("GET /\u00C3\u00A9 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");

        Assert.StartsWith("HTTP/1.1 400 ", await client.ReadToEndAsync());
    }

    [Theory, EveryFrontEnd]
    public async Task Get_Headers_ArriveAsTheyWereSent(FrontEndSetup setup)
    {
        IHeaderDictionary headers = new HeaderDictionary();
        var site = await StartAsync(setup, app => app.MapGet("/", (HttpRequest request) =>
        {
            foreach (var (name, values) in request.Headers)
                headers[name] = values;
        }));

        using var request = new HttpRequestMessage(HttpMethod.Get, "/");
        request.Headers.Host = "www.example.test:81";
        request.Headers.Authorization = new("Bearer", "token");
        request.Headers.UserAgent.ParseAdd("functional/1.0 (test)");
        request.Headers.Add("Accept", ["text/html", "*/*;q=0.1"]);
        request.Headers.Add("Cookie", "a=1; b=2");
        request.Headers.Add("X-Dashed-Name", "value, with: every \"sign\"");
        request.Headers.Add("X-Forwarded-For", "192.0.2.1");
        using var response = await site.Client.SendAsync(request);

        Assert.Equal(HttpStatusCode.OK, response.StatusCode);
        Assert.Equal("www.example.test:81", headers.Host);
        Assert.Equal("Bearer token", headers.Authorization);
        Assert.Equal("functional/1.0 (test)", headers.UserAgent);
        Assert.Equal("text/html, */*; q=0.1", headers.Accept);
        Assert.Equal("a=1; b=2", headers.Cookie);
        Assert.Equal("value, with: every \"sign\"", headers["X-Dashed-Name"]);
        if (!Shortcomings.Has(setup, Ability.ForwardedHeaders))
            Assert.Equal("192.0.2.1", headers["X-Forwarded-For"]);
        Assert.True(headers.ContentLength is null or 0);
    }
}
