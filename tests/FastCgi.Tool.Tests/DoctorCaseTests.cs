using System.Text;

namespace FastCgi.Tool.Tests;

/// <summary>Configurations and arguments from bug reports: each has one mistake, or none.</summary>
public sealed class DoctorCaseTests : IDisposable
{
    private const string Usual = "include fastcgi_params; fastcgi_read_timeout 2m; ";
    private const string Pass = "fastcgi_pass unix:/run/app/app.sock; ";
    private const string Guarded = "location / { auth_request /auth; " + Usual + Pass + "} ";
    private const string Cached = "location / { " + Usual + "fastcgi_cache z; fastcgi_cache_key ";
    private const string AuthorizationPassed = "<Location />\nCGIPassAuth On\n</Location>\n";
    private const string Reads = "fastcgi_param REQUEST_URI $uri; ";

    private readonly ScratchFolder _folder = new();

    public void Dispose() => _folder.Dispose();

    /// <summary>The findings of a server of nginx.</summary>
    [Theory]
    // A guard must not get the URL or the method of the guarded page.
    [InlineData(Guarded + "location = /auth { " + Usual + Pass + "}",
        "problem auth-request passes $request_uri", "problem auth-request passes $request_method")]
    [InlineData(Guarded + "location = /auth { " + Usual + Reads + Pass
        + "}", "problem auth-request passes $request_method")]
    [InlineData(Guarded + "location /auth { " + Usual + "fastcgi_param REQUEST_METHOD GET; " + Pass + "}",
        "problem auth-request passes $request_uri")]
    [InlineData(Guarded, "problem auth-request passes $request_uri", "problem auth-request passes $request_method")]
    [InlineData(Guarded + "location = /auth { internal; " + Usual + Reads + "fastcgi_param REQUEST_METHOD GET; "
        + "fastcgi_pass_request_body off; fastcgi_param CONTENT_LENGTH \"\"; " + Pass + "}")]
    [InlineData(Guarded + "location = /auth { proxy_pass http://127.0.0.1:4180; }")]
    [InlineData(Guarded + "location = /auth { " + Usual + "fastcgi_param REQUEST_URI \"${request_uri}\"; "
        + "fastcgi_param REQUEST_METHOD GET; " + Pass + "}", "problem auth-request passes $request_uri")]
    [InlineData("set $u $request_uri; " + Guarded + "location = /auth { " + Usual + "fastcgi_param REQUEST_URI $u; "
        + "fastcgi_param REQUEST_METHOD GET; " + Pass + "}", "problem auth-request passes $request_uri")]
    [InlineData(Guarded + "location = /auth { try_files /none @auth; } location @auth { " + Usual
        + "fastcgi_param REQUEST_METHOD GET; " + Pass + "}", "problem auth-request passes $request_uri")]
    [InlineData(Guarded + "location ~ ^/auth$ { " + Usual + Reads + "fastcgi_param REQUEST_METHOD GET; " + Pass + "}")]
    [InlineData("location ^~ / { auth_request /auth; " + Usual + Pass + "} location /auth { " + Usual + Reads
        + "fastcgi_param REQUEST_METHOD GET; " + Pass + "}")]
    // A page for errors must not get the URL that was refused.
    [InlineData("error_page 403 /refused; location / { " + Usual + Pass
        + "}", "problem error-page error_page 403 /refused")]
    [InlineData("error_page 403 @no; location / { deny all; } location @no { " + Usual + Pass + "}",
        "problem error-page error_page 403 @no")]
    [InlineData("error_page 404 /missing; location / { " + Usual + Pass
        + "}", "note error-page error_page 404 /missing")]
    [InlineData("error_page 403 /refused; location / { " + Usual + Pass + "} location = /refused { " + Usual + Reads
        + Pass + "}")]
    [InlineData("error_page 404 = @app; location / { root /srv; } location @app { " + Usual + Pass + "}")]
    [InlineData("error_page 502 /50x.html; location = /50x.html { root /srv; } location / { " + Usual + Pass + "}")]
    [InlineData("location /old/ { rewrite ^/old/(.*) /new/$1 last; } location / { " + Usual + Pass
        + "}", "note rewrite-unseen rewrite")]
    [InlineData("location /old/ { rewrite ^ /new/ permanent; } location / { " + Usual + Pass + "}")]
    // A cached response to HEAD has no body.
    [InlineData("location / { " + Usual + "fastcgi_cache z; fastcgi_cache_key $request_uri; " + Pass + "}",
        "problem cache-head fastcgi_cache_key $request_uri")]
    [InlineData("location / { " + Usual + "fastcgi_cache z; " + Pass
        + "}", "problem cache-head without fastcgi_cache_key")]
    [InlineData("location / { " + Usual + "fastcgi_cache z; fastcgi_cache_key $request_method$request_uri; " + Pass
        + "}")]
    [InlineData("set $key $request_method$uri; location / { " + Usual + "fastcgi_cache z; fastcgi_cache_key $key; "
        + Pass + "}")]
    [InlineData("location / { " + Usual + "fastcgi_cache off; " + Pass + "}")]
    [InlineData("location / { " + Usual + Pass + "} } server { listen 0.0.0.0; client_max_body_size 30m; location / { "
        + Usual + Pass + "}", "problem duplicate-server server_name  is also in ")]
    [InlineData(Cached + "$request; fastcgi_ignore_headers Expires set-cookie; " + Pass + "}",
        "problem cache-cookies fastcgi_cache ignores Set-Cookie")]
    [InlineData(Cached + "$request; fastcgi_ignore_headers Set-Cookie; fastcgi_hide_header set-cookie; " + Pass + "}")]
    [InlineData(Cached + "\"$request$host\"; " + Pass + "}")]
    [InlineData("set $m $request_method; set $k $m$uri; " + Cached + "$k; " + Pass + "}")]
    [InlineData("if ($request_method = HEAD) { set $no 1; } " + Cached + "$uri; fastcgi_no_cache $no; " + Pass + "}")]
    [InlineData("if ($request_method = POST) { set $no 1; } " + Cached + "$uri; fastcgi_no_cache $no; " + Pass + "}",
        "problem cache-head fastcgi_cache_key $uri")]
    [InlineData(Cached + "$request_method_x$uri; " + Pass + "}",
        "problem cache-head fastcgi_cache_key $request_method_x")]
    // What a file has that was not found is not missing.
    [InlineData("location / { include snippets/app.conf; " + Pass + "}", "not checked the file does not exist")]
    [InlineData("include /opt/nginx/mime.types; location / { fastcgi_read_timeout 2m; " + Pass + "}",
        "problem params-missing there is no 'include fastcgi_params;'")]
    [InlineData("location / { " + Usual + Pass + "} location /upload { " + Usual + Pass + "}")]
    [InlineData("location /app/ { " + Usual + Pass + "}\n"
        + "location /upload { " + Usual + "fastcgi_pass 127.0.0.1:9001; }",
        "note path-base location /app/ passes no PATH_BASE", "note path-base location /upload passes no PATH_BASE")]
    [InlineData("location / { try_files $uri /app; } location /app { " + Usual + Pass + "}")]
    [InlineData("location / { " + Usual + "fastcgi_pass 127.0.0.1:9000; }\n"
        + "location /upload { " + Usual + "fastcgi_pass localhost:9000; }")]
    [InlineData("set $app unix:/run/app/app.sock; location / { " + Usual + "fastcgi_pass $app; } "
        + "location /upload { " + Usual + Pass + "}", "not checked variables are not evaluated: $app")]
    // A client's header with underscores is the same parameter.
    [InlineData("underscores_in_headers on; location / { " + Usual + "fastcgi_param HTTP_X_AUTH_USER $remote_user; "
        + Pass + "}",
        "problem underscores underscores_in_headers on")]
    [InlineData("underscores_in_headers on; location / { " + Usual + Pass
        + "}", "note underscores underscores_in_headers on")]
    [InlineData("ignore_invalid_headers off; location / { " + Usual + Pass
        + "}", "note underscores ignore_invalid_headers off")]
    [InlineData("underscores_in_headers off; location / { " + Usual + "fastcgi_param HTTP_X_AUTH_USER $remote_user; "
        + Pass + "}")]
    [InlineData("location / { include nothing_params; uwsgi_pass 127.0.0.1:9000; }",
        "not checked the file does not exist", "problem other-protocol uwsgi_pass 127.0.0.1:9000")]
    [InlineData("location / { scgi_pass 127.0.0.1:9000; }", "problem other-protocol scgi_pass 127.0.0.1:9000")]
    [InlineData("location / { " + Usual + Pass + "} location /py { uwsgi_pass 127.0.0.1:9001; }")]
    [InlineData("location / { include fastcgi_params; fastcgi_read_timeout 1h30m; " + Pass + "}")]
    [InlineData("location / { include fastcgi_params; fastcgi_read_timeout '1m 20s'; " + Pass + "}",
        "note read-timeout fastcgi_read_timeout 1m 20s")]
    [InlineData("location /x { content_by_lua_block {\n local s = \"a;}\" -- it's {\n if s then ngx.say('}') end\n"
        + " local t = { a = [[}]] }\n} } # x_by_lua_block {\nlocation / { " + Usual + Pass + "}")]
    [InlineData("location / { " + Usual + "uwsgi_read_timeout 60s; " + Pass
        + "}", "note proxy-directive uwsgi_read_timeout")]
    public Task Nginx_Server_HasTheseFindings(string server, params string[] expected)
        => AssertFindingsAsync("nginx", $"server {{ listen 80; client_max_body_size 30m; {server} }}", expected);

    /// <summary>
    /// The advice about a line that was left over from <c>proxy_pass</c> must not let clients choose their address.
    /// </summary>
    [Theory]
    [InlineData("X-Forwarded-For $proxy_add_x_forwarded_for")]
    [InlineData("X-Forwarded-Proto $scheme")]
    [InlineData("x-forwarded-host $host")]
    [InlineData("Forwarded for=$remote_addr")]
    [InlineData("X-Real-IP $remote_addr")]
    [InlineData("X-Scheme $scheme")]
    [InlineData("X-Anything $remote_addr")]
    [InlineData("Proxy \"\"")]
    public async Task Nginx_LeftoverHeader_IsToBeRemoved(string header)
    {
        var output = await RunAsync("nginx", $"server {{ location / {{ {Usual}proxy_set_header {header}; {Pass}}} }}");

        Assert.Contains("note proxy-directive  ", output, StringComparison.Ordinal);
        Assert.Contains("  add   # remove this line", output, StringComparison.Ordinal);
        Assert.DoesNotContain("fastcgi_param HTTP_", output, StringComparison.Ordinal);
    }

    /// <summary>The advised line is valid: an unknown directive would keep nginx from starting.</summary>
    [Theory]
    [InlineData("proxy_http_version 1.1", "# remove this line: there is no fastcgi_http_version")]
    [InlineData("proxy_redirect off", "# remove this line: there is no fastcgi_redirect")]
    [InlineData("proxy_read_timeout 100s", "fastcgi_read_timeout 100s;")]
    [InlineData("proxy_cache_key \"$uri x\"", "fastcgi_cache_key \"$uri x\";")]
    [InlineData("proxy_set_header Accept-Encoding \"\"", "fastcgi_param HTTP_ACCEPT_ENCODING \"\";")]
    [InlineData("proxy_set_header Content-Type a/b", "fastcgi_param CONTENT_TYPE a/b;")]
    [InlineData("grpc_set_header X-A b", "fastcgi_param HTTP_X_A b;")]
    public async Task Nginx_LeftoverLine_IsTranslated(string line, string advised)
    {
        var output = await RunAsync("nginx", $"server {{ location / {{ {Usual}{line}; {Pass}}} }}");

        Assert.Contains($"  add   {advised}\n", output, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("SetEnvIf Authorization \"(.*)\" HTTP_AUTHORIZATION=$1")]
    [InlineData("SetEnvIfNoCase authorization .+ HTTP_AUTHORIZATION=$0")]
    [InlineData("RewriteEngine on\nRewriteRule .* - [E=HTTP_AUTHORIZATION:%{HTTP:Authorization}]")]
    [InlineData("ProxyFCGISetEnvIf \"true\" HTTP_AUTHORIZATION \"%{HTTP:Authorization}\"")]
    [InlineData("SetEnvIf Authorization '(.*)' 'HTTP_AUTHORIZATION=$1'")]
    [InlineData("SetEnvIfExpr \"req('Authorization') =~ /(.+)/\" HTTP_AUTHORIZATION=$1")]
    [InlineData("RewriteEngine on\nRewriteRule ^ - [L,env=HTTP_AUTHORIZATION:%{HTTP:Authorization}]")]
    [InlineData("<If \"-n %{HTTP:Authorization}\">\nCGIPassAuth On\n</If>")]
    [InlineData("<Location />\n<Limit GET>\nCGIPassAuth On\n</Limit>\n</Location>")]
    [InlineData("<Location />\n<IfVersion >= 2.4.13>\nCGIPassAuth On\n</IfVersion>\n</Location>")]
    [InlineData("<Location ~ \"^/\">\nCGIPassAuth On\n</Location>")]
    [InlineData("<LocationMatch ^/>\nCGIPassAuth On\n</LocationMatch>")]
    [InlineData("<ProxyMatch ^fcgi://>\nCGIPassAuth On\n</ProxyMatch>")]
    [InlineData("CGIPassAuth On", "problem authorization-dropped is not allowed in <VirtualHost>")]
    [InlineData("<Directory />\nCGIPassAuth On\n</Directory>", "problem authorization-dropped no CGIPassAuth On")]
    [InlineData("<LocationMatch ^/other>\nCGIPassAuth On\n</LocationMatch>",
        "problem authorization-dropped no CGIPassAuth On")]
    [InlineData("<Location />\nCGIPassAuth On\n</Location>\n<Location />\nCGIPassAuth Off\n</Location>",
        "problem authorization-dropped no CGIPassAuth On")]
    [InlineData("<IfModule !mod_proxy_fcgi.c>\n<Location />\nCGIPassAuth On\n</Location>\n</IfModule>",
        "problem authorization-dropped no CGIPassAuth On")]
    [InlineData("SetEnvIf Referer . HTTP_AUTHORIZATION=x", "problem authorization-dropped no CGIPassAuth On")]
    [InlineData("RewriteEngine on\nRewriteRule ^/api - [E=HTTP_AUTHORIZATION:%{HTTP:Authorization}]",
        "problem authorization-dropped no CGIPassAuth On")]
    [InlineData("Include nowhere.conf", "not checked the file does not exist")]
    [InlineData("Include nowhere/*.conf", "not checked the file does not exist")]
    [InlineData("IncludeOptional nowhere/*.conf", "problem authorization-dropped no CGIPassAuth On")]
    [InlineData("RewriteRule .* - [E=HTTP_AUTHORIZATION:%{HTTP:Authorization}]",
        "problem authorization-dropped CGIPassAuth")]
    [InlineData("SetEnvIf Authorization . HTTPS=on", "problem authorization-dropped CGIPassAuth")]
    [InlineData(AuthorizationPassed + "ErrorDocument 403 /refused", "problem error-page ErrorDocument 403 /refused")]
    [InlineData(AuthorizationPassed + "ErrorDocument 404 /missing", "note error-page ErrorDocument 404 /missing")]
    [InlineData(AuthorizationPassed + "ErrorDocument 403 \"no\"")]
    [InlineData(AuthorizationPassed + "ProxyPass /errors !\nErrorDocument 403 /errors/403.html")]
    [InlineData(
        AuthorizationPassed
        + "ErrorDocument 403 /no\n<Location /no>\nProxyFCGISetEnvIf true REQUEST_URI /no\n</Location>")]
    [InlineData(AuthorizationPassed + "RewriteEngine on\nRewriteRule ^/old/(.*)$ /new/$1 [PT,QSA]",
        "note rewrite-unseen RewriteRule")]
    [InlineData(AuthorizationPassed + "RewriteEngine on\nRewriteRule ^/old/(.*)$ /new/$1 [R=301,L]")]
    [InlineData(AuthorizationPassed + "ProxyPass /upload fcgi://127.0.0.1:9000/upload flushpackets=on timeout=900")]
    public Task Apache_Host_HasTheseFindings(string lines, params string[] expected) => AssertFindingsAsync(
        "apache", $"<VirtualHost *:80>\nServerName a\n{lines}\n"
            + "ProxyPass / fcgi://127.0.0.1:9000/ flushpackets=on timeout=120\n</VirtualHost>\n", expected);

    /// <summary>Options of the worker, which a balancer has for each member.</summary>
    [Theory]
    [InlineData("ProxyPass / fcgi://127.0.0.1:9000/ flushpackets=auto timeout=120")]
    [InlineData("<Proxy fcgi://127.0.0.1:9000>\nProxySet flushpackets=on timeout=120\n</Proxy>\n"
        + "ProxyPass / fcgi://127.0.0.1:9000/")]
    [InlineData("<Proxy fcgi://app flushpackets=on timeout=120>\n</Proxy>\n"
        + "ProxyPass / unix:/run/a.sock|fcgi://app/")]
    [InlineData("<Proxy fcgi://127.0.0.1:9001>\nProxySet flushpackets=on\n</Proxy>\n"
        + "ProxyPass / fcgi://127.0.0.1:9000/ timeout=120", "problem streaming-held flushpackets=on")]
    [InlineData("<Proxy balancer://a>\nBalancerMember unix:/run/a.sock|fcgi://a flushpackets=on timeout=120\n</Proxy>\n"
        + "ProxyPass / balancer://a/")]
    [InlineData("<Proxy balancer://a>\nBalancerMember fcgi://127.0.0.1:9000 timeout=120\n</Proxy>\n"
        + "ProxyPass / balancer://a/", "problem streaming-held a BalancerMember has no flushpackets=on")]
    public Task Apache_Worker_HasOptions(string lines, params string[] expected) => AssertFindingsAsync(
        "apache", $"<VirtualHost *:80>\n{AuthorizationPassed}{lines}\n</VirtualHost>\n", expected);

    /// <summary>Requests for all paths lead to the fallback, so that its path is not the path base.</summary>
    [Theory]
    [InlineData("FallbackResource /app")]
    [InlineData("DirectoryIndex index.html", "note path-base no PATH_BASE is passed for /app")]
    public Task Apache_Fallback_NeedsNoPathBase(string line, params string[] expected) => AssertFindingsAsync(
        "apache", $"<VirtualHost *:80>\nTimeout 120\n{AuthorizationPassed}<Directory /srv>\n{line}\n</Directory>\n"
            + "<Location /app>\nSetHandler \"proxy:fcgi://127.0.0.1:9000/\"\n</Location>\n</VirtualHost>\n", expected);

    [Theory]
    [InlineData("ServerName b\nServerAlias A www.a", "problem duplicate-server ServerAlias a is also in ")]
    [InlineData("ServerName a", "problem duplicate-server ServerAlias a is also in ")]
    [InlineData("ServerName b\nServerAlias c")]
    [InlineData("ServerName http://A:80", "problem duplicate-server ServerAlias a is also in ")]
    [InlineData("ServerName b\nServerAlias ?", "problem duplicate-server ServerName d is also in ")]
    public Task Apache_AliasOfAnotherHost_IsFound(string names, params string[] expected)
    {
        const string Lines =
            AuthorizationPassed + "ProxyPass / fcgi://127.0.0.1:9000/ flushpackets=on timeout=120\n</VirtualHost>\n";
        return AssertFindingsAsync(
            "apache", $"<VirtualHost *:80>\n{names}\n{Lines}<VirtualHost *:80>\nServerName d\nServerAlias a\n{Lines}",
                expected);
    }

    /// <summary>A virtual host inherits rules of the server only if it says so.</summary>
    [Theory]
    [InlineData("RewriteOptions Inherit")]
    [InlineData("RewriteEngine on", "problem authorization-dropped no CGIPassAuth On")]
    public Task Apache_RuleOfTheServer_IsInherited(string line, params string[] expected) => AssertFindingsAsync(
        "apache", "RewriteEngine on\nRewriteRule .* - [E=HTTP_AUTHORIZATION:%{HTTP:Authorization}]\n"
            + $"<VirtualHost *:80>\n{line}\n"
            + "ProxyPass / fcgi://127.0.0.1:9000/ flushpackets=on timeout=120\n</VirtualHost>\n", expected);

    [Theory]
    [InlineData("option max-reqs 1000", "problem max-reqs option max-reqs 1000")]
    [InlineData("option max-reqs 50")]
    public Task HaProxy_RequestsOfAConnection_AreLimited(string option, params string[] expected)
        => AssertFindingsAsync(
        "haproxy",
            $"fcgi-app a\n docroot /\n pass-header Authorization\n option mpxs-conns\n {option}\nlisten l\n bind :80\n"
            + " option http-no-delay\n timeout server 2m\n use-fcgi-app a\n server s 127.0.0.1:9000 proto fcgi\n",
                expected);

    /// <summary>The protocol may come from <c>default-server</c>, and the timeout from named defaults.</summary>
    [Theory]
    [InlineData("default-server proto fcgi\n server s 127.0.0.1:9000")]
    [InlineData("server-template s 3 127.0.0.1:9000 proto fcgi")]
    [InlineData("server s abns@app proto fcgi")]
    public Task HaProxy_Server_IsFound(string lines, params string[] expected) => AssertFindingsAsync(
        "haproxy", "defaults a\n mode http\n timeout server 2m\n option http-no-delay\n"
            + "defaults b\n timeout server 10s\nfcgi-app a\n docroot /\n"
            + " set-param HTTP_AUTHORIZATION %[req.hdr(Authorization)]\n"
            + $"listen l from a\n bind :80\n use-fcgi-app a\n {lines}\n", expected);

    /// <summary>Addresses of h2o in every form of YAML.</summary>
    [Theory]
    [InlineData("fastcgi.connect: 9000", "127.0.0.1:9000")]
    [InlineData("fastcgi.connect: { port: 9000, host: 10.0.0.1 }", "10.0.0.1:9000")]
    [InlineData("fastcgi.connect:\n  type: unix\n  port: \"/run/a.sock\"", "/run/a.sock")]
    [InlineData("- fastcgi.connect: # a\n    port: 9000 # b\n    host: '10.0.0.1'\n- file.dir: /srv", "10.0.0.1:9000")]
    public async Task H2o_Address_IsRead(string lines, string address)
    {
        var output = await RunAsync(
            "h2o", $"hosts:\n  a:\n    paths:\n      /:\n        {lines.Replace("\n", "\n        ")}\n");

        Assert.Contains($"site.conf:5: fastcgi.connect {address}\n", output, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("setenv.set-request-header = (\"X-Auth-User\" => \"a\")",
        "problem underscores lighttpd sets X-Auth-User")]
    [InlineData("setenv.set-request-header = (\"X-Auth-User\" => \"a\")\nmagnet.attract-raw-url-to = (\"/a.lua\")")]
    [InlineData("server.error-handler = \"/no\"", "note error-page server.error-handler /no")]
    [InlineData("url.rewrite-once = (\"^/a\" => \"/b\")", "note rewrite-unseen url.rewrite-once")]
    [InlineData("include_shell \"cat a\"", "not checked include_shell is not run")]
    [InlineData("fastcgi.server += (\"/upload\" => ((\"port\" => 9000, \"check-local\" => \"disable\")))")]
    public Task Lighttpd_Line_HasTheseFindings(string line, params string[] expected) => AssertFindingsAsync(
        "lighttpd", "server.modules = (\"mod_fastcgi\")\nserver.stream-response-body = 1\n"
            + $"fastcgi.server = (\"/\" => ((\"port\" => 9000, \"check-local\" => \"disable\")))\n{line}\n", expected);

    [Theory]
    [InlineData("request_header -*_*")]
    [InlineData("", "note underscores the site has no request_header -*_*")]
    [InlineData("request_header X-Auth-User a", "problem underscores request_header X-Auth-User a")]
    [InlineData("request_header -*_*\nrequest_header X-Auth-User a")]
    [InlineData("import drop")]
    [InlineData("import nothing", "not checked the file does not exist")]
    [InlineData("request_header -*_*\nreverse_proxy \\\n{$APP:127.0.0.1:9001} {\ntransport fastcgi\n}")]
    [InlineData("rewrite /a /b\nrequest_header -*_*", "note rewrite-unseen rewrite /a /b")]
    [InlineData("request_header -*_*\nforward_auth unix//run/g.sock {\nuri /auth\ntransport fastcgi\n}",
        "problem auth-request the guard has no env REQUEST_URI")]
    [InlineData(
        "request_header -*_*\nforward_auth unix//run/g.sock {\ntransport fastcgi {\nenv REQUEST_URI /auth\n}\n}")]
    [InlineData("request_header -*_*\nforward_auth 127.0.0.1:9091 {\nuri /auth\n}")]
    [InlineData(
        "request_header -*_*\nhandle_errors {\nrewrite /no\nreverse_proxy 127.0.0.1:9000 {\ntransport fastcgi\n}\n}",
        "problem error-page handle_errors", "note rewrite-unseen rewrite /no")]
    public Task Caddy_Site_HasTheseFindings(string lines, params string[] expected)
        => AssertFindingsAsync("caddy",
        $"(drop) {{\nrequest_header -*_*\n}}\n:80 {{\n{lines}\n"
            + "reverse_proxy 127.0.0.1:9000 {\ntransport fastcgi\n}\n}\n", expected);

    [Fact]
    public Task Caddy_Snippet_HasArguments() => AssertFindingsAsync("caddy", "(app) {\nrequest_header -*_*\n"
        + "reverse_proxy {args[0]} {\ntransport fastcgi\n}\n}\n:80 {\nimport app unix//run/a.sock\n}\n");

    /// <summary>Only what sees the headers as the client sent them can drop them.</summary>
    [Fact]
    public Task Caddy_HeaderUp_DoesNotDropUnderscores() => AssertFindingsAsync(
        "caddy",
            ":80 {\nreverse_proxy 127.0.0.1:9000 {\nheader_up -*_*\nheader_up X-Auth-User a\ntransport fastcgi\n}\n}\n",
        "problem underscores header_up X-Auth-User a");

    [Theory]
    [InlineData("/x/site.conf", 2, "'/x/site.conf' does not exist")]
    [InlineData("/etc", 2, "'/etc' is a folder")]
    [InlineData("/run/nowhere/site.conf", 2, "'/run/nowhere/site.conf' does not exist")]
    [InlineData("/nowhere/app.sock", 1, "problem no-socket")]
    [InlineData("unix:/x/site", 1, "problem no-socket")]
    public async Task Path_WithoutAFile_IsNamed(string target, int code, string message)
    {
        var (actual, output, error) = await ToolRun.RunAsync("doctor", target);

        Assert.Equal(code, actual);
        Assert.Contains(message, output + error, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("Shopping list\n- milk\nserver room key, include the spare one\n",
        "does not look like a configuration of ")]
    [InlineData("{\"apps\":{\"http\":{\"servers\":{}}}}", "does not look like a configuration of ")]
    [InlineData(" \n", "is empty.")]
    [InlineData("\uFEFFs\0e\0r\0v\0e\0r\0 \0{\0\n\0", "is not a text file.")]
    [InlineData("<?php\ninclude 'header.php';\necho 1;\n", "has no fastcgi_pass.")]
    [InlineData("Things to do\ninclude the spare key;\nserver {\n", "has no fastcgi_pass.")]
    [InlineData("\u007fELF\0\0server {\n", "is not a text file.")]
    [InlineData("server { location / { proxy_pass http://127.0.0.1:1; } }", "has no fastcgi_pass.")]
    [InlineData(":80 {\nreverse_proxy 127.0.0.1:1\n}\n", "has no php_fastcgi and no 'transport fastcgi'.")]
    [InlineData("hosts:\n  \"a\":\n    file.dir: /srv\n", "has no fastcgi.connect.")]
    [InlineData("listen a\n bind :80\n server s 127.0.0.1:1\n", "has no server with 'proto fcgi'.")]
    public async Task File_WithoutFastCgi_IsNotChecked(string text, string message)
    {
        var (code, output, error) = await ToolRun.RunAsync("doctor", Write(text), "--no-connect");

        Assert.Equal((3, ""), (code, output));
        Assert.Contains(message, error, StringComparison.Ordinal);
    }

    /// <summary>Only Caddy and h2o accept a byte order mark.</summary>
    [Theory]
    [InlineData("server { location / { " + Usual + Pass + "} }", "problem byte-order-mark")]
    [InlineData(":80 {\nrequest_header -*_*\nreverse_proxy a:1 {\ntransport fastcgi\n}\n}\n",
        ": 0 problems, 0 notes\n")]
    public async Task ByteOrderMark_IsFound(string text, string message)
    {
        var (_, output, _) = await ToolRun.RunAsync("doctor", Write("\uFEFF" + text), "--no-connect");

        Assert.Contains(message, output, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Address_WithoutConnecting_IsNotChecked()
    {
        var (_, output, _) = await ToolRun.RunAsync("doctor", "127.0.0.1:1", "--no-connect");

        Assert.Contains("0 problems, 0 notes, 1 not checked\n", output, StringComparison.Ordinal);
    }

    private string Write(string text) => _folder.Write("site.conf", Encoding.UTF8.GetBytes(text));

    private async Task<string> RunAsync(string server, string text)
    {
        var (_, output, error) = await ToolRun.RunAsync("doctor", Write(text), "--server", server, "--no-connect");
        return output + error;
    }

    /// <param name="expected">The level, the id, and a part of the evidence of each finding, in any order.</param>
    private async Task AssertFindingsAsync(string server, string text, params string[] expected)
    {
        var output = await RunAsync(server, text);
        var lines = output.Split('\n');
        var actual = lines.Index()
            .Where(static line => line.Item.StartsWith("problem ", StringComparison.Ordinal)
                || line.Item.StartsWith("note ", StringComparison.Ordinal))
            .Select(line => $"{line.Item.Split("  ")[0]} {lines[line.Index + 1]}")
            .Concat(lines.Where(static line => line.StartsWith("not checked: ", StringComparison.Ordinal)))
            .ToList();

        Assert.True(actual.Count == expected.Length, output);
        Assert.All(expected, finding => Assert.Contains(actual, line => IsFound(line, finding.Split(' ', 3))));
    }

    private static bool IsFound(string line, string[] finding)
        => line.StartsWith($"{finding[0]} {finding[1]}", StringComparison.Ordinal)
            && line.Contains(finding[2], StringComparison.Ordinal);
}
