using System.Text;

namespace FastCgi.Tool.Tests;

/// <summary>Correct configurations: nothing is wrong with them. Ours cause no note either.</summary>
public sealed class DoctorCorrectTests : IDisposable
{
    private readonly ScratchFolder _folder = new();

    public static TheoryData<string, string> Ours
    {
        get
        {
            var data = new TheoryData<string, string>();
            foreach (var server in new[] { "nginx", "apache", "lighttpd", "haproxy", "caddy" })
            {
                foreach (var option in new[] { "--json", "--tls", "--tls --path-base /shop", "--behind-balancer" })
                    data.Add(server, option);
            }

            return data;
        }
    }

    public void Dispose() => _folder.Dispose();

    [Theory, MemberData(nameof(Ours))]
    public async Task OwnConfiguration_HasNoFinding(string server, string option)
    {
        foreach (var address in new[] { "/run/hello/app.sock", "127.0.0.1:9000" })
        {
            var (_, text, _) = await ToolRun.RunAsync(["config", server, "--address", address, .. option.Split(' ')]);
            if (option == "--json")
                text = System.Text.Json.JsonDocument.Parse(text).RootElement.GetProperty("text").GetString()!;
            await AssertCleanAsync(server, text, ": 0 problems, 0 notes\n");
        }
    }

    [Theory]
    [InlineData(
        "server { listen 127.0.0.1:8080; location / { fastcgi_param SCRIPT_NAME \"\"; fastcgi_param PATH_INFO "
            + "$fastcgi_script_name; include app.conf; fastcgi_pass app; } }\n"
            + "upstream app { server 127.0.0.1:9000; keepalive 16; }\nfastcgi_keep_conn on;")]
    [InlineData(
        "server { location = /app { return 301 /app/; } location ^~ /app/ { fastcgi_split_path_info ^(/app)(/.*)$; "
            + "include app.conf; fastcgi_pass 127.0.0.1:9000; } }")]
    [InlineData(
        "server { location / { include app.conf; fastcgi_request_buffering off; fastcgi_buffering off; "
            + "client_max_body_size 0; fastcgi_pass unix:/run/app/fcgi.sock; } }")]
    [InlineData(
        "server { listen 80; root /var/www; location / { try_files $uri $uri/ /index.php?$args; } location ~ \\.php$ { "
            + "include fastcgi_params; try_files $uri =404; fastcgi_pass unix:/run/php/php8.2-fpm.sock; } }")]
    [InlineData(
        "server { listen 80; location ~ [^/]\\.php(/|$) { fastcgi_split_path_info ^(.+\\.php)(/.+)$; include "
            + "fastcgi.conf; fastcgi_index index.php; fastcgi_pass 127.0.0.1:9000; } }")]
    [InlineData(
        "server { listen 80; root /srv; location / { try_files $uri @app; } location @app { include fastcgi_params; "
            + "fastcgi_pass 127.0.0.1:9000; } }")]
    [InlineData(
        "server { listen 80; server_name a; location / { include fastcgi_params; fastcgi_pass 127.0.0.1:9000; } } "
            + "server { listen 80; server_name b; location / { include fastcgi_params; fastcgi_pass 127.0.0.1:9001; "
            + "} }")]
    [InlineData(
        "server { listen 80; server_name a; return 301 https://$host$request_uri; } server { listen 443 ssl; "
            + "server_name a; location / { include fastcgi_params; fastcgi_pass 127.0.0.1:9000; } }")]
    [InlineData(
        "server { listen [::]:443 ssl; listen 443 quic; include fastcgi_params; location / { fastcgi_pass [::1]:9000; "
            + "} location /static/ { root /srv; } }")]
    [InlineData(
        "log_format main '$remote_addr'\n  '$status';\nserver { listen 80; location / { if ($request_method = TRACE) { "
            + "return 405; } include fastcgi_params; fastcgi_pass localhost:9000; } }")]
    [InlineData(
        "server { listen 80; auth_basic Members; auth_basic_user_file m; location / { include fastcgi_params; "
            + "fastcgi_param AUTH_TYPE Basic; fastcgi_param REMOTE_USER $remote_user; fastcgi_pass 127.0.0.1:9000; } "
            + "}")]
    [InlineData(
        "server { listen 80; fastcgi_cache c; fastcgi_cache_key $request_method$request_uri; fastcgi_cache_valid 1m; "
            + "fastcgi_ignore_headers Cache-Control; location / { include fastcgi_params; fastcgi_pass "
            + "127.0.0.1:9000; } }")]
    public Task Nginx_Configuration_HasNoProblem(string text)
    {
        _folder.Write("app.conf", Encoding.UTF8.GetBytes(
            "fastcgi_param REQUEST_METHOD $request_method; fastcgi_param REQUEST_URI $request_uri; fastcgi_param "
                + "QUERY_STRING $query_string; fastcgi_param CONTENT_TYPE $content_type;\n"
            + "fastcgi_param CONTENT_LENGTH $content_length; fastcgi_param REMOTE_ADDR $remote_addr; fastcgi_param "
            + "HTTPS $https if_not_empty;\n"));
        return AssertCleanAsync("nginx", text, ": 0 problems, ");
    }

    [Theory]
    [InlineData(
        "<Location />\nCGIPassAuth On\nProxyFCGIBackendType GENERIC\nProxyFCGISetEnvIf \"true\" SCRIPT_NAME \"\"\n"
            + "</Location>\nAllowEncodedSlashes NoDecode\nProxyPass / fcgi://127.0.0.1:9000/ nocanon enablereuse=on "
            + "flushpackets=on timeout=300")]
    [InlineData(
        "<Location /app>\nCGIPassAuth On\nProxyFCGISetEnvIf \"true\" SCRIPT_NAME \"/app\"\n</Location>\n"
            + "ProxyPass /app fcgi://127.0.0.1:9000/ flushpackets=on")]
    [InlineData("<Location /app>\nCGIPassAuth On\nSetHandler \"proxy:fcgi://127.0.0.1:9000/\"\n</Location>")]
    [InlineData(
        "<Location />\nCGIPassAuth On\n</Location>\n<FilesMatch \\.php$>\n"
            + "SetHandler \"proxy:unix:/run/php/php8.2-fpm.sock|fcgi://localhost\"\n</FilesMatch>")]
    [InlineData(
        "<Location />\nCGIPassAuth On\n</Location>\nProxyPass /static !\nProxyPass /.well-known !\n"
            + "ProxyPass / fcgi://127.0.0.1:9000/ flushpackets=on")]
    [InlineData(
        "<Location />\nCGIPassAuth On\n</Location>\nProxyPassMatch ^/(.*\\.php)$ fcgi://127.0.0.1:9000/srv/$1 "
            + "flushpackets=on")]
    [InlineData(
        "<Location />\nCGIPassAuth On\n</Location>\nSSLEngine on\n<Directory />\nRequire all denied\n</Directory>\n"
            + "<Location /admin>\nRequire all denied\n</Location>\nProxyPass / unix:/run/app.sock|fcgi://app/ "
            + "flushpackets=on")]
    [InlineData(
        "<Location />\nCGIPassAuth On\n</Location>\n<Proxy balancer://app>\n"
            + "BalancerMember fcgi://127.0.0.1:9000 flushpackets=on\n"
            + "BalancerMember fcgi://127.0.0.1:9001 flushpackets=auto\n</Proxy>\nProxyPass / balancer://app/")]
    public Task Apache_Configuration_HasNoProblem(string text) => AssertCleanAsync(
        "apache", $"<VirtualHost *:80>\nServerName www.example.test\n{text}\n</VirtualHost>\n", ": 0 problems, ");

    [Theory]
    [InlineData(
        "fcgi-app a\n docroot /srv/www/html\n path-info ^()(/.*)$\n pass-header Authorization\n"
            + " set-param HTTPS on if { ssl_fc }\nfrontend f\n bind 127.0.0.1:8080\n default_backend b\nbackend b\n"
            + " use-fcgi-app a\n server app 127.0.0.1:9000 proto fcgi")]
    [InlineData(
        "fcgi-app a\n docroot /srv\n path-info ^(/app)(/.*)?$\n pass-header Authorization\nfrontend f\n bind :8081\n"
            + " http-request deny if !{ path -m reg ^/app(/.*)?$ }\n default_backend b\nbackend b\n use-fcgi-app a\n"
            + " server app unix@/run/a.sock proto fcgi")]
    [InlineData(
        "fcgi-app a\n docroot /srv\n pass-header Authorization\n option mpxs-conns\n option max-reqs 100\nfrontend f\n"
            + " bind :8082\n use_backend b if { path_beg / }\nbackend b\n use-fcgi-app a\n http-reuse always\n"
            + " server app 127.0.0.1:9000 proto fcgi")]
    [InlineData(
        "fcgi-app a\n docroot /srv\n pass-header Authorization\nlisten l\n bind :443 ssl crt /etc/a.pem\n"
            + " use-fcgi-app a\n server app 127.0.0.1:9000 proto fcgi\n server spare 127.0.0.1:9001 proto fcgi backup")]
    [InlineData(
        "fcgi-app a\n docroot /srv\n pass-header Authorization\nfrontend f\n bind *:80\n default_backend web\n"
            + " use_backend b if { path_beg /app }\nbackend web\n server w 127.0.0.1:8080\nbackend b\n"
            + " use-fcgi-app a\n server app 127.0.0.1:9000 proto fcgi")]
    public Task HaProxy_Configuration_HasNoProblem(string text)
        => AssertCleanAsync(
            "haproxy",
            "global\n maxconn 500\ndefaults\n mode http\n option http-no-delay\n timeout server 300s\n" + text + "\n",
            ": 0 problems, ");

    [Theory]
    [InlineData(
        "$SERVER[\"socket\"] == \"127.0.0.1:8080\" {\nfastcgi.server = (\"/\" => ((\"host\" => \"127.0.0.1\", \"port\" "
            + "=> 9000, \"check-local\" => \"disable\", \"fix-root-scriptname\" => \"enable\")))\n}")]
    [InlineData(
        "fastcgi.server = (\"/app\" => "
            + "((\"host\" => \"127.0.0.1\", \"port\" => 9000, \"check-local\" => \"disable\")))")]
    [InlineData(
        "fastcgi.server = (\"/\" => ((\"socket\" => \"/tmp/a.sock\", \"bin-path\" => \"/srv/app.fcgi\", \"max-procs\" "
            + "=> 1, \"bin-environment\" => (\"A\" => \"b\"), \"check-local\" => \"disable\")))")]
    [InlineData(
        "$HTTP[\"host\"] == \"a\" {\nfastcgi.server += (\"\" => ((\"socket\" => \"/run/a.sock\", \"check-local\" => "
            + "\"disable\")))\n} else $HTTP[\"host\"] == \"b\" {\nserver.document-root = \"/srv\"\n}")]
    [InlineData(
        "$HTTP[\"url\"] =~ \"^/shop(/|$)\" {\nsetenv.add-environment = (\"PATH_BASE\" => \"/shop\")\n"
            + "fastcgi.server = (\"/shop\" => ((\"socket\" => \"/run/a.sock\", \"check-local\" => \"disable\")))\n}")]
    public Task Lighttpd_Configuration_HasNoProblem(string text)
        => AssertCleanAsync(
            "lighttpd",
            "server.modules = (\"mod_fastcgi\", \"mod_setenv\")\nserver.stream-response-body = 1\n" + text + "\n",
            ": 0 problems, ");

    private async Task AssertCleanAsync(string server, string text, string expected)
    {
        var (code, output, error) = await ToolRun.RunAsync(
            "doctor", _folder.Write("site.conf", Encoding.UTF8.GetBytes(text)), "--no-connect");
        Assert.True(
            code == 0 && output.Contains(expected, StringComparison.Ordinal), $"{server} {code}\n{output}{error}");
        Assert.DoesNotContain("not checked", output, StringComparison.Ordinal);
    }
}
