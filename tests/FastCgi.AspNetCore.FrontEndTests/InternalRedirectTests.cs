namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>What the application sees after the web server has changed the URL, as <c>docs/paths.md</c> says.</summary>
public sealed class InternalRedirectTests(ITestOutputHelper output) : FrontEndTest(output)
{
    private const FastCgiPathSource Sent = FastCgiPathSource.RequestUri;
    private const FastCgiPathSource DocumentUri = FastCgiPathSource.DocumentUri;
    private const FastCgiPathSource ScriptName = FastCgiPathSource.ScriptNameAndPathInfo;

    private const string LighttpdRewrite = """
        server.modules += ("mod_rewrite")
        url.rewrite-once = ("^/old/(.*)$" => "/new/$1")
        """;

    private const string CaddyRewrite = "\trewrite /old/* /new{path}?from=old&{query}";
    private const string CaddyStrip = "\turi /old/* strip_prefix /old";

    private const string CaddyPath = """
        	handle_path /old/* {
        		reverse_proxy unix//run/hello/app.sock {
        			transport fastcgi
        		}
        	}
        """;

    private const string ApacheInclude = """
        LoadModule include_module /usr/lib/apache2/modules/mod_include.so
        <Location "/page">
            Options +Includes
            SetOutputFilter INCLUDES
        </Location>
        """;

    /// <summary>How <c>/admin/</c> is refused with an error page from the application.</summary>
    private static readonly Dictionary<FrontEndKind, Refusal> s_refusals = new()
    {
        [FrontEndKind.Nginx] = new(
            """
                error_page 403 /refused;
                location /admin/ { deny all; }
                location = /refused {
                    include fastcgi_params;
                    #0
                    fastcgi_pass unix:/run/hello/app.sock;
                }
            """,
            ["fastcgi_param REQUEST_URI $uri;"],
            DocumentUri),
        [FrontEndKind.Apache] = new(
            """
            ErrorDocument 403 /refused
            <Location "/admin/">
                Require all denied
            </Location>
            <Location "/refused">
                #0
            </Location>
            """,
            ["""ProxyFCGISetEnvIf "true" REQUEST_URI "/refused" """.TrimEnd()],
            ScriptName),
        [FrontEndKind.Lighttpd] = new(
            """
            server.modules += ("mod_access", "mod_setenv")
            $HTTP["url"] =~ "^/admin/" {
                url.access-deny = ("")
                server.error-handler = "/refused"
            }
            $HTTP["url"] == "/refused" {
                #0
            }
            """,
            ["""setenv.set-environment = ("REQUEST_URI" => "/refused")"""],
            ScriptName),
        [FrontEndKind.Caddy] = new(
            """
            	error /admin/* 403
            	handle_errors {
            		rewrite * /refused
            		reverse_proxy unix//run/hello/app.sock {
            			#1
            			transport fastcgi {
            				#0
            			}
            		}
            	}
            """,
            ["env REQUEST_URI /refused", "method GET"],
            ScriptName),
    };

    public static TheoryData<FrontEndKind> Refusals => [.. s_refusals.Keys];

    public static TheoryData<FrontEndKind, string, FastCgiPathSource, string, string> Rewrites => new()
    {
        // Directives, the option, the target, and what the application sees: path|query.
        { FrontEndKind.Lighttpd, LighttpdRewrite, Sent, "/old/x?a=b", "/old/x|?a=b" },
        { FrontEndKind.Lighttpd, LighttpdRewrite, ScriptName, "/old/x?a=b", "/new/x|?a=b" },
        { FrontEndKind.HaProxy, "    http-request replace-path /old/(.*) /new/\\1", Sent, "/old/x?a=b", "/new/x|?a=b" },
        { FrontEndKind.Caddy, CaddyRewrite, Sent, "/old/x?a=b", "/old/x|?a=b" },
        { FrontEndKind.Caddy, CaddyRewrite, ScriptName, "/old/x?a=b", "/new/old/x|?from=old&a=b" },
        { FrontEndKind.Caddy, CaddyStrip, Sent, "/old/x?a=b", "/old/x|?a=b" },
        { FrontEndKind.Caddy, CaddyStrip, DocumentUri, "/old/x?a=b", "/old/x|?a=b" },
        { FrontEndKind.Caddy, CaddyStrip, ScriptName, "/old/x?a=b", "/x|?a=b" },
        { FrontEndKind.Caddy, CaddyStrip, ScriptName, "/a//b%2Fc", "/a//b/c|" },
        { FrontEndKind.Caddy, CaddyPath, Sent, "/old/x?a=b", "/old/x|?a=b" },
        { FrontEndKind.Caddy, CaddyPath, ScriptName, "/old/x?a=b", "/x|?a=b" },

        // The page includes /part?included.
        { FrontEndKind.Nginx, "    ssi on;", Sent, "/page", "includes /page|?included" },
        { FrontEndKind.Nginx, "    ssi on;", DocumentUri, "/page", "includes /part|?included" },
        { FrontEndKind.Apache, ApacheInclude, Sent, "/page", "includes /page|?included" },
        { FrontEndKind.Apache, ApacheInclude, ScriptName, "/page", "includes /part|?included" },
    };

    [Theory, MemberData(nameof(Rewrites))]
    public async Task Path_AfterARewrite_FollowsPathSource(
        FrontEndKind kind, string directives, FastCgiPathSource source, string target, string expected)
    {
        var site = await StartAsync(kind, directives, source);

        Assert.Equal(expected, await site.Client.GetStringAsync(target));
    }

    /// <summary>The application gets the refused URL and returns that page, unless configured as documented.</summary>
    [Theory, MemberData(nameof(Refusals))]
    public async Task ErrorPage_FromTheApplication_IsTheRefusedPageUnlessTheUrlIsSet(FrontEndKind kind)
    {
        // nginx logs a refusal as an error.
        ExpectsFrontEndErrors = true;
        var (directives, lines, source) = s_refusals[kind];
        var document = await File.ReadAllTextAsync(Path.Combine(AppContext.BaseDirectory, "Documents", "paths.md"));
        var open = await StartAsync(kind, directives, Sent);
        Assert.Equal("/admin/x|?a=b", await SendAsync(open, HttpMethod.Get));
        var method = kind == FrontEndKind.Caddy ? "POST " : "";
        Assert.Equal($"{method}/admin/x|?a=b", await SendAsync(open, HttpMethod.Post));

        var withSource = await StartAsync(kind, directives, source);
        Assert.StartsWith("/refused|", await SendAsync(withSource, HttpMethod.Get));

        Assert.All(lines, line => Assert.Contains($"`{line}`", document));
        var withLines = await StartAsync(kind, s_refusals[kind].Complete(), Sent);
        Assert.StartsWith("/refused|", await SendAsync(withLines, HttpMethod.Get));
        Assert.StartsWith("/refused|", await SendAsync(withLines, HttpMethod.Post));
    }

    /// <summary>nginx changes neither the URL nor the method for a named location.</summary>
    [Theory]
    [InlineData(Sent)]
    [InlineData(DocumentUri)]
    public async Task ErrorPage_InANamedLocation_IsTheRefusedPage(FastCgiPathSource source)
    {
        ExpectsFrontEndErrors = true;
        var named = s_refusals[FrontEndKind.Nginx].Complete()
            .Replace("= /refused", "@refused")
            .Replace("/refused", "@refused");

        var site = await StartAsync(FrontEndKind.Nginx, named, source);

        Assert.StartsWith("POST /admin/x|", await SendAsync(site, HttpMethod.Post));
    }

    private Task<Site> StartAsync(FrontEndKind kind, string directives, FastCgiPathSource source) => StartAsync(
        new FrontEndSetup { Kind = kind, UsesUnixSocket = kind != FrontEndKind.HaProxy, IsDocumented = true },
        static app => app.Map(
            "/{**path}", static (HttpContext context) => Results.Content(Describe(context.Request), "text/html")),
        options => options.PathSource = source,
        more: directives);

    private static string Describe(HttpRequest request)
    {
        if (request is { Path.Value: "/page", QueryString.HasValue: false })
            return """includes <!--#include virtual="/part?included" -->""";

        var method = HttpMethods.IsGet(request.Method) ? "" : request.Method + " ";
        return $"{method}{request.Path}|{request.QueryString}";
    }

    private static async Task<string> SendAsync(Site site, HttpMethod method)
    {
        using var request = new HttpRequestMessage(method, "/admin/x?a=b");
        request.Content = method == HttpMethod.Post ? new StringContent("a body") : null;
        using var response = await site.Client.SendAsync(request);
        return await response.Content.ReadAsStringAsync();
    }

    /// <param name="Lines">The lines in the document, which replace #0 and #1.</param>
    /// <param name="Source">The option that also helps.</param>
    private sealed record Refusal(string Directives, string[] Lines, FastCgiPathSource Source)
    {
        public string Complete() => Lines.Index().Aggregate(
            Directives, static (text, line) => text.Replace($"#{line.Index}", line.Item));
    }
}
