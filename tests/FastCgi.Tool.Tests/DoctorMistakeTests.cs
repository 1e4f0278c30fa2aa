using System.Text;
using System.Text.RegularExpressions;

namespace FastCgi.Tool.Tests;

/// <summary>Wrong configurations, each with the sentence that explains it.</summary>
public sealed class DoctorMistakeTests : IDisposable
{
    private const string Apache =
        "<VirtualHost *:80>\nServerName a\n<Location />\nCGIPassAuth On\n</Location>\n"
            + "ProxyPass / fcgi://127.0.0.1:9000/ flushpackets=on timeout=120\n</VirtualHost>\n";
    private const string HaProxy =
        "fcgi-app a\n docroot /\n pass-header Authorization\nfrontend f\n bind :80\n option http-no-delay\n"
            + " default_backend b\nbackend b\n use-fcgi-app a\n timeout server 2m\n"
            + " server s 127.0.0.1:9000 proto fcgi\n";
    private const string Lighttpd =
        "server.modules = (\"mod_fastcgi\")\nserver.stream-response-body = 1\n"
            + "fastcgi.server = (\"/\" => ((\"port\" => 9000, \"check-local\" => \"disable\")))\n";
    private const string AllParameters =
        "fastcgi_param REQUEST_METHOD $request_method; fastcgi_param REQUEST_URI $request_uri; fastcgi_param "
            + "CONTENT_LENGTH $content_length; "
        + "fastcgi_param CONTENT_TYPE $content_type; fastcgi_param REMOTE_ADDR $remote_addr; fastcgi_param "
        + "QUERY_STRING $query_string; fastcgi_param HTTPS $https;";

    private readonly ScratchFolder _folder = new();

    public void Dispose() => _folder.Dispose();

    /// <summary>What is added to a location that is otherwise correct.</summary>
    [Theory]
    [InlineData("try_files $uri =404;", "problem try-files: try_files $uri =404")]
    [InlineData("fastcgi_param REQUEST_URI $uri;", "problem target-rewritten: fastcgi_param REQUEST_URI $uri")]
    [InlineData("fastcgi_pass_request_body off;", "problem body-dropped: fastcgi_pass_request_body off")]
    [InlineData("fastcgi_pass_request_headers off;", "problem authorization-dropped: fastcgi_pass_request_headers off")]
    [InlineData(
        "fastcgi_param HTTP_AUTHORIZATION \"\";", "problem authorization-dropped: fastcgi_param HTTP_AUTHORIZATION ")]
    [InlineData("fastcgi_param HTTP_HOST \"\";", "problem host-missing: fastcgi_param HTTP_HOST ")]
    [InlineData(
        "fastcgi_param AUTH_TYPE Basic;",
        "problem user-unverified: AUTH_TYPE is passed, but no directive authenticates the user")]
    [InlineData(
        "fastcgi_param REMOTE_USER $remote_user; auth_basic Members;",
        "note user-unverified: auth_basic without AUTH_TYPE")]
    [InlineData(
        "error_page 404 /404.html; fastcgi_intercept_errors on;", "note errors-replaced: fastcgi_intercept_errors on")]
    [InlineData(
        "fastcgi_cache a; fastcgi_ignore_headers Set-Cookie;",
        "problem cache-cookies: fastcgi_cache ignores Set-Cookie")]
    [InlineData(
        "fastcgi_ignore_headers X-Accel-Buffering;",
        "problem streaming-held: X-Accel-Buffering is ignored while fastcgi_buffering is on")]
    [InlineData("fastcgi_read_timeout 1m;", "note read-timeout: fastcgi_read_timeout 1m")]
    [InlineData("client_max_body_size 1m;", "note body-size: client_max_body_size 1m")]
    [InlineData(
        "client_max_body_size 2g;", "note upload-held: client_max_body_size 2g and fastcgi_request_buffering on")]
    [InlineData("fastcgi_buffer_size 4k;", "note head-buffer: fastcgi_buffer_size 4k")]
    [InlineData("proxy_read_timeout 300s;", "note proxy-directive: proxy_read_timeout with fastcgi_pass")]
    [InlineData(
        "fastcgi_keep_conn on;", "note keepalive-missing: fastcgi_keep_conn on, but no 'keepalive' in an upstream")]
    [InlineData("fastcgi_param PATH_BASE /a;", "note path-base: location / passes PATH_BASE /a with each request")]
    [InlineData(
        "client_max_body_size 30m\n fastcgi_buffer_size 16k;",
        "problem semicolon-missing: 'client_max_body_size 30m' has no semicolon: fastcgi_buffer_size in line 3 belongs "
            + "to it")]
    public Task Nginx_LineInALocation_IsExplained(string line, string expected)
        => AssertFoundAsync(
            "nginx",
            $"server {{ listen 80; location / {{\n {AllParameters} fastcgi_read_timeout 2m; {line}\n "
                + "fastcgi_pass 127.0.0.1:9000; } }",
            expected);

    [Theory]
    [InlineData(
        "REQUEST_METHOD", "problem params-missing: there is no 'include fastcgi_params;' and no REQUEST_METHOD")]
    [InlineData("REQUEST_URI", "problem target-missing: REQUEST_URI is not passed")]
    [InlineData("CONTENT_LENGTH", "problem length-missing: CONTENT_LENGTH is not passed")]
    [InlineData("CONTENT_TYPE", "problem parameter-missing: CONTENT_TYPE is not passed")]
    [InlineData("REMOTE_ADDR", "problem parameter-missing: REMOTE_ADDR is not passed")]
    [InlineData("QUERY_STRING", "note parameter-missing: QUERY_STRING is not passed")]
    public Task Nginx_ParameterOfAList_IsMissed(string name, string expected)
        => AssertFoundAsync(
            "nginx",
            $"server {{ location / {{ {AllParameters.Replace(name + " ", "OTHER ", StringComparison.Ordinal)} "
                + "fastcgi_pass 127.0.0.1:9000; } }",
            expected);

    [Theory]
    [InlineData(
        "listen 443; location / { include fastcgi_params; fastcgi_pass 127.0.0.1:9000; }",
        "problem tls-missing: listen 443, without ssl")]
    [InlineData(
        "listen 80; location = / { include fastcgi_params; fastcgi_pass 127.0.0.1:9000; }",
        "problem only-root: only location = / passes requests to the application")]
    [InlineData(
        "listen 80; location /a/ { include fastcgi_params; fastcgi_pass 127.0.0.1:9000; }",
        "note path-base: location /a/ passes no PATH_BASE")]
    [InlineData(
        "listen 80; location /a/ { include fastcgi_params; fastcgi_param PATH_BASE /b; fastcgi_pass 127.0.0.1:9000; }",
        "problem path-base: location /a/ passes PATH_BASE /b")]
    [InlineData(
        "listen 8080; location / { include fastcgi_params; fastcgi_param HTTP_HOST $host; fastcgi_pass 127.0.0.1:9000; "
            + "}", "problem host-port: clients use port 8080, but HTTP_HOST is $host, without a port")]
    [InlineData(
        "include fastcgi_params; location / { fastcgi_param A b; fastcgi_pass 127.0.0.1:9000; }",
        "problem params-missing: the fastcgi_param in line 1 disables those inherited from ")]
    [InlineData(
        "listen 443 ssl; location / { fastcgi_param REQUEST_METHOD GET; fastcgi_pass 127.0.0.1:9000; }",
        "problem scheme-missing: FILE:1 uses TLS, but neither HTTPS nor REQUEST_SCHEME is passed")]
    [InlineData(
        "set_real_ip_from 192.0.2.10; location / { include fastcgi_params; fastcgi_pass 127.0.0.1:9000; }",
        "problem scheme-behind-balancer: a load balancer is trusted (FILE:1), but HTTPS")]
    [InlineData(
        "location / { include fastcgi_params; fastcgi_pass $backend; }",
        "not checked: FILE:1: variables are not evaluated: $backend")]
    [InlineData(
        "location / { include fastcgi_params; fastcgi_pass 127.0.0.1:9000; } } server { location / { include "
            + "fastcgi_params; fastcgi_pass 127.0.0.1:9001; }",
        "problem duplicate-server: server_name  is also in FILE:1, for the same port")]
    [InlineData(
        "location / { include fastcgi_params; fastcgi_pass a; } } upstream a { server 127.0.0.1:9000; keepalive 8;",
        "problem keep-conn-missing: keepalive 8, but no 'fastcgi_keep_conn on;' at FILE:1")]
    [InlineData(
        "location / { include fastcgi_params; fastcgi_pass a; } } upstream a { server 127.0.0.1:9000; server "
            + "127.0.0.1:9001;",
        "note keys-not-shared: 2 addresses share the requests, but apparently not a folder for Data Protection keys")]
    [InlineData(
        "location / { include fastcgi_params; fastcgi_pass 127.0.0.1:9000;",
        "problem semicolon-missing: a block is not closed")]
    public Task Nginx_Server_IsExplained(string server, string expected)
        => AssertFoundAsync("nginx", $"server {{ {server} }}", expected);

    [Theory]
    [InlineData("9000/ ", "9000 ", "problem target-slash: fcgi://127.0.0.1:9000 has no trailing slash, and / has one")]
    [InlineData(
        "</VirtualHost>",
        "ProxyPass /static !\n</VirtualHost>",
        "problem exclusion-order: ProxyPass /static ! comes after line 6")]
    [InlineData("*:80", "*:443", "problem tls-missing: VirtualHost *:443 has no SSLEngine on")]
    [InlineData(
        "<VirtualHost",
        "<VirtualHost *:80>\nServerName a\nDocumentRoot /srv\n</VirtualHost>\n<VirtualHost",
        "problem duplicate-server: ServerName a is also in FILE:1, for *:80")]
    [InlineData(
        "CGIPassAuth On",
        "CGIPassAuth On\nRequire all denied",
        "problem access-denied: Require all denied applies to /")]
    [InlineData("CGIPassAuth On", "", "problem authorization-dropped: no CGIPassAuth On for /")]
    [InlineData("flushpackets=on", "", "problem streaming-held: the ProxyPass line has no flushpackets=on")]
    [InlineData("timeout=120", "", "note read-timeout: there is no timeout")]
    [InlineData(
        "flushpackets=on", "flushpackets=on nocanon", "problem nocanon: nocanon without ProxyFCGIBackendType GENERIC")]
    [InlineData(
        "ServerName a",
        "AllowEncodedSlashes NoDecode",
        "problem nocanon: AllowEncodedSlashes NoDecode, and the ProxyPass in line 6 has no nocanon")]
    [InlineData(
        "ServerName a",
        "RemoteIPHeader X-Forwarded-For",
        "problem scheme-behind-balancer: a load balancer is trusted, but nothing sets HTTPS for its requests")]
    [InlineData(
        "CGIPassAuth On", "CGIPassAuth On\nSetEnv PATH_BASE /a", "problem path-base: <Location /> passes PATH_BASE /a")]
    [InlineData("ProxyPass / ", "ProxyPass /a ", "note path-base: no PATH_BASE is passed for /a")]
    [InlineData(
        "<VirtualHost",
        "LoadModule proxy_module x\n<VirtualHost",
        "problem module-missing: proxy_fcgi_module is not loaded")]
    [InlineData(
        "ProxyPass / fcgi://127.0.0.1:9000/ flushpackets=on timeout=120",
        "RewriteRule ^(.*)$ fcgi://127.0.0.1:9000$1 [P]",
        "note rewrite-proxy: RewriteRule with [P]")]
    [InlineData("fcgi://127.0.0.1:9000/", "balancer://a/", "note keys-not-shared: 2 addresses share the requests")]
    [InlineData("ServerName a", "Use Site a", "not checked: FILE:2: macros are not expanded: Use Site a")]
    public Task Apache_Mistake_IsExplained(string right, string wrong, string expected)
    {
        const string Balancer =
            "<Proxy balancer://a>\nBalancerMember fcgi://127.0.0.1:9000\nBalancerMember fcgi://127.0.0.1:9001\n"
                + "</Proxy>\n";
        return AssertReplacedAsync(
            "apache", Apache, right, wrong.StartsWith("balancer", StringComparison.Ordinal) ? Balancer : "", wrong,
            expected);
    }

    [Theory]
    [InlineData("fcgi-app a", "fcgi-app c", "problem app-unknown: there is no 'fcgi-app a'")]
    [InlineData(" use-fcgi-app a\n", "", "problem app-unknown: backend b has no use-fcgi-app")]
    [InlineData(" docroot /\n", "", "problem docroot-missing: fcgi-app a has no docroot")]
    [InlineData("bind :80\n", "bind :80\n mode tcp\n", "problem tcp-mode: frontend f has mode tcp")]
    [InlineData("fcgi-app a", "global\nfcgi-app a", "problem tcp-mode: frontend f has no mode")]
    [InlineData("bind :80\n", "bind :443\n", "problem tls-missing: bind :443, without ssl")]
    [InlineData(
        " pass-header Authorization\n",
        "",
        "problem authorization-dropped: fcgi-app a has no 'pass-header Authorization'")]
    [InlineData(" option http-no-delay\n", "", "problem streaming-held: frontend f has no 'option http-no-delay'")]
    [InlineData("server 2m", "server 50000", "note read-timeout: timeout server is 50 s")]
    [InlineData("docroot /\n", "docroot /\n no option keep-conn\n", "note keep-conn-missing: no option keep-conn")]
    [InlineData(
        "docroot /\n",
        "docroot /\n set-param PATH_BASE /x\n",
        "note path-base: PATH_BASE /x is passed with each request")]
    [InlineData(
        "docroot /\n",
        "docroot /\n set-param PATH_BASE /x if { path_beg /y/ }\n",
        "problem path-base: PATH_BASE /x is passed for /y")]
    [InlineData(
        "bind :80\n",
        "bind :80\n http-request set-src req.hdr_ip(X-Forwarded-For,-1)\n",
        "problem scheme-behind-balancer: a load balancer is trusted (FILE:6), but REQUEST_SCHEME describes its "
            + "connection")]
    [InlineData("127.0.0.1:9000", "\"${HOST}\"", "not checked: FILE:11: '${HOST}' is not an address")]
    public Task HaProxy_Mistake_IsExplained(string right, string wrong, string expected)
        => AssertReplacedAsync("haproxy", HaProxy, right, "", wrong, expected);

    [Theory]
    [InlineData("(\"mod_fastcgi\")", "(\"mod_proxy\")", "problem module-missing: mod_fastcgi is not in server.modules")]
    [InlineData(", \"check-local\" => \"disable\"", "", "problem check-local: / has no \"check-local\" => \"disable\"")]
    [InlineData(
        "server.stream-response-body = 1", "", "problem streaming-held: server.stream-response-body is 0, the default")]
    [InlineData("body = 1", "body = 1\nserver.max-request-size = 1024", "note body-size: server.max-request-size 1024")]
    [InlineData("\"port\"", "\"read-timeout\" => 30, \"port\"", "note read-timeout: read-timeout is 30 s")]
    [InlineData(
        "\"port\"",
        "\"bin-path\" => \"/srv/a\", \"port\"",
        "note keys-not-shared: lighttpd starts several processes, because there is no \"max-procs\" => 1")]
    [InlineData("(\"/\" =>", "(\"/a\" =>", "note path-base: no PATH_BASE is passed for /a")]
    [InlineData(
        "body = 1",
        "body = 1\n$HTTP[\"url\"] =~ \"^/a(/|$)\" {\nsetenv.add-environment = (\"PATH_BASE\" => \"/b\")\n}",
        "problem path-base: $HTTP[\"url\"] =~ ^/a(/|$) passes PATH_BASE /b")]
    [InlineData(
        "body = 1",
        "body = 1\nsetenv.add-environment = (\"PATH_BASE\" => \"/b\")",
        "note path-base: PATH_BASE /b is passed with each request")]
    [InlineData("body = 1", "body = 1\ninclude_shell \"cat a\"", "not checked: FILE:3: include_shell is not run")]
    public Task Lighttpd_Mistake_IsExplained(string right, string wrong, string expected)
        => AssertReplacedAsync("lighttpd", Lighttpd, right, "", wrong, expected);

    private Task AssertReplacedAsync(
        string server, string text, string right, string before, string wrong, string expected)
    {
        Assert.Contains(right, text, StringComparison.Ordinal);
        var at = text.IndexOf(right, StringComparison.Ordinal);
        return AssertFoundAsync(server, before + text[..at] + wrong + text[(at + right.Length)..], expected, text);
    }

    private async Task AssertFoundAsync(string server, string wrong, string expected, string? right = null)
    {
        var file = _folder.GetPath("site.conf");
        expected = expected.Replace("FILE", file, StringComparison.Ordinal);
        var pattern = expected.StartsWith("not checked", StringComparison.Ordinal)
            ? "^" + Regex.Escape(expected)
            : Regex.Replace(Regex.Escape(expected), @"^(problem|note)\\ ([a-z-]+):\\ ", @"^$1 $2  .*\n  seen  ");
        var (_, output, error) = await ToolRun.RunAsync(
            "doctor", _folder.Write("site.conf", Encoding.UTF8.GetBytes(wrong)), "--server", server, "--no-connect");

        Assert.True(Regex.IsMatch(output, pattern, RegexOptions.Multiline), $"{pattern}\n{output}{error}");
        Assert.DoesNotMatch(@"  (then|add)  +\n", output);
        if (right is null)
            return;
        (_, output, _) = await ToolRun.RunAsync(
            "doctor", _folder.Write("site.conf", Encoding.UTF8.GetBytes(right)), "--server", server, "--no-connect");
        Assert.EndsWith(": 0 problems, 0 notes\n", output, StringComparison.Ordinal);
    }
}
