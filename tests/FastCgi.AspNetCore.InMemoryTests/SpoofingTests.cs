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
        ("X_FORWARDED_SERVER", "evil.example"),
        ("X_FORWARDED_SSL", "off"),
        ("X_FORWARDED_USER", "root"),
        ("X_REMOTE_USER", "root"),
        ("X_REAL_IP", "10.0.0.1"),
        ("X_CLIENT_IP", "10.0.0.1"),
        ("CLIENT_IP", "10.0.0.1"),
        ("TRUE_CLIENT_IP", "10.0.0.1"),
        ("FORWARDED", "for=10.0.0.1;host=evil.example;proto=ftp"),
        ("VIA", "1.0 evil"),
        ("X_ORIGINAL_URL", "/admin"),
        ("X_REWRITE_URL", "/admin"),
        ("X_HTTP_METHOD_OVERRIDE", "DELETE"),
        ("X_ORIGINAL_FOR", "10.0.0.1"),
        ("HTTPS", "off"),
        ("REQUEST_SCHEME", "ftp"),
        ("REQUEST_METHOD", "DELETE"),
        ("REQUEST_URI", "/admin"),
        ("DOCUMENT_URI", "/admin"),
        ("SCRIPT_NAME", "/admin"),
        ("SCRIPT_FILENAME", "/etc/passwd"),
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
        ("X_ARR_CLIENTCERT", "TUlJ"),
        ("REQUEST_ID", "forged"),
        ("X_REQUEST_ID", "forged"),
        ("UNIQUE_ID", "forged"),
        ("GATEWAY_INTERFACE", "evil"),
        ("FCGI_ROLE", "AUTHORIZER"),
    ];

    public static IEnumerable<object[]> Headers
        => from header in s_headers
           from source in Enum.GetValues<FastCgiPathSource>()
           select new object[] { header.Name, header.Value, source };

    [Theory]
    [MemberData(nameof(Headers))]
    public async Task PARAMS_ForgedHeader_ChangesNothingButTheHeaders(
        string header, string value, FastCgiPathSource pathSource)
    {
        var plain = Waiting.Signal<string>();
        var forged = Waiting.Signal<string>();
        await using var server = await TestServer.StartAsync(
            app => app.UseAuthentication().Run(context =>
            {
                var isForged = context.Request.Headers.ContainsKey("X-Forged");
                Assert.Equal(isForged ? value : null, context.GetServerVariable("HTTP_" + header));
                Assert.NotEqual(value, context.GetServerVariable(header));
                (isForged ? forged : plain).SetResult(Describe(context));
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

        foreach (var parameters in new[] { s_secureRequest, [.. s_secureRequest, (
            "HTTP_X_FORGED", "yes"), ("HTTP_" + header, value)] })
        {
            var frontEnd = server.Connect();
            Assert.Equal(200, (await frontEnd.AskAsync(RecordBytes.Get(uri: "/a/b?c=d", more: parameters))).Status);
        }

        Assert.Equal(await plain.Task, await forged.Task);
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
