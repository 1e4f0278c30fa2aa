namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>
/// A hostile client can send any header, and front-ends turn each into an HTTP_… variable. Only <c>Request.Headers</c>
/// may show them, even with all options on that make the server trust more parameters.
/// </summary>
public class SpoofingTests
{
    private static readonly (string Name, string Value)[] s_secureRequest =
        [("HTTPS", "on"), ("SSL_PROTOCOL", "TLSv1.3"), (
            "SSL_CLIENT_VERIFY", "NONE"), ("SCRIPT_NAME", "/a"), ("PATH_INFO", "/b"), ("DOCUMENT_URI", "/a/b")];

    private static readonly (string Name, string Value)[] s_headers =
    [
        ("REMOTE_USER", "root"),
        ("AUTH_TYPE", "Basic"),
        ("AUTHORIZATION", "Basic cm9vdDpyb290"),
        ("REDIRECT_HTTP_AUTHORIZATION", "Bearer forged"),
        ("REDIRECT_REMOTE_USER", "root"),
        ("X_FORWARDED_FOR", "10.0.0.1"),
        ("X_FORWARDED_PROTO", "ftp"),
        ("X_FORWARDED_HOST", "evil.example"),
        ("X_FORWARDED_PORT", "1"),
        ("X_FORWARDED_PREFIX", "/evil"),
        ("X_REAL_IP", "10.0.0.1"),
        ("FORWARDED", "for=10.0.0.1;host=evil.example;proto=ftp"),
        ("X_ORIGINAL_URL", "/admin"),
        ("X_HTTP_METHOD_OVERRIDE", "DELETE"),
        ("HTTPS", "off"),
        ("REQUEST_SCHEME", "ftp"),
        ("REQUEST_METHOD", "DELETE"),
        ("REQUEST_URI", "/admin"),
        ("DOCUMENT_URI", "/admin"),
        ("SCRIPT_NAME", "/admin"),
        ("PATH_INFO", "/admin"),
        ("PATH_BASE", "/a"),
        ("QUERY_STRING", "admin=1"),
        ("REMOTE_ADDR", "10.0.0.1"),
        ("REMOTE_PORT", "1"),
        ("SERVER_ADDR", "10.0.0.1"),
        ("SERVER_PORT", "1"),
        ("SERVER_NAME", "evil.example"),
        ("SERVER_PROTOCOL", "HTTP/9"),
        ("CONTENT_LENGTH", "5"),
        ("CONTENT_TYPE", "text/evil"),
        ("PROXY", "http://evil.example"),
        ("SSL_CLIENT_CERT", "-----BEGIN CERTIFICATE-----"),
        ("SSL_CLIENT_VERIFY", "SUCCESS"),
        ("SSL_CLIENT_S_DN", "CN=root"),
        ("SSL_PROTOCOL", "SSLv2"),
        ("REQUEST_ID", "forged"),
        ("FCGI_ROLE", "AUTHORIZER"),
    ];

    public static TheoryData<FastCgiPathSource> Sources => [.. Enum.GetValues<FastCgiPathSource>()];

    [Theory]
    [MemberData(nameof(Sources))]
    public async Task PARAMS_ForgedHeaders_ChangeNothingButTheHeaders(FastCgiPathSource pathSource)
    {
        var seen = new List<string>();
        await using var server = await TestServer.StartAsync(
            app => app.UseAuthentication().Run(context =>
            {
                foreach (var (header, value) in s_headers)
                {
                    Assert.Equal(seen.Count == 0 ? null : value, context.GetServerVariable("HTTP_" + header));
                    Assert.NotEqual(value, context.GetServerVariable(header));
                }

                seen.Add(Describe(context));
                return Apps.Hello(context);
            }),
            options =>
            {
                options.PathSource = pathSource;
                options.TrustScriptName = true;
                options.AllowUnverifiedClientCertificate = true;
                options.TraceIdentifierParameter = "REQUEST_ID";
            },
            services => services.AddAuthentication().AddFastCgi(
                static options => options.RequireAuthenticationType = false));

        (string, string)[] forged =
            [.. s_secureRequest, .. s_headers.Select(static header => ("HTTP_" + header.Name, header.Value))];
        foreach (var parameters in new[] { s_secureRequest, forged })
        {
            var frontEnd = server.Connect();
            Assert.Equal(200, (await frontEnd.AskAsync(RecordBytes.Get(uri: "/a/b?c=d", more: parameters))).Status);
        }

        Assert.Equal(2, seen.Count);
        Assert.Equal(seen[0], seen[1]);
    }

    /// <summary>An application may hand on its headers to programs that it starts (httpoxy).</summary>
    [Fact]
    public async Task PARAMS_ProxyHeader_IsDropped()
    {
        var isThere = true;
        var response = await TestServer.AskAsync(context =>
        {
            isThere = context.Request.Headers.ContainsKey("Proxy")
                || context.Request.Headers.Any(static header => header.Key == "Proxy");
            return Apps.Hello(context);
        }, RecordBytes.Get(more: ("HTTP_PROXY", "http://evil.example")));

        Assert.Equal(200, response.Status);
        Assert.False(isThere);
    }

    /// <summary>Everything that the application sees of a request but the headers.</summary>
    private static string Describe(HttpContext context)
    {
        var request = context.Request;
        var connection = context.Connection;
        object?[] parts =
        [
            request.Method, request.Scheme, request.IsHttps, request.Host, request.PathBase, request.Path,
            request.QueryString,
            request.Protocol, request.ContentLength, request.ContentType, request.HasFormContentType,
            connection.RemoteIpAddress, connection.RemotePort, connection.LocalIpAddress, connection.LocalPort,
            connection.ClientCertificate,
            context.User.Identity?.Name, context.User.Identity?.IsAuthenticated,
            context.TraceIdentifier.EndsWith(":00000001", StringComparison.Ordinal),
            context.Features.Get<IFastCgiRequestFeature>()?.Role,
        ];
        return string.Join(" | ", parts.Select(static part => Convert.ToString(part, CultureInfo.InvariantCulture)));
    }
}
