namespace FastCgi.AspNetCore.Advice;

internal sealed record WebServerBlock(string Server, string File, string Command, string Text)
{
    // The search path of an ordinary user lacks some of these.
    private static readonly string[] s_serverFolders =
        ["/usr/sbin", "/usr/local/sbin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"];

    /// <param name="hasIPv6">With IPv6, localhost is ::1 first, where Debian's default site listens.</param>
    public static IReadOnlyList<WebServerBlock> Create(
        EndPoint endPoint, string pathBase, string applicationName, bool hasIPv6, Func<string, bool> exists)
    {
        var name = GetFileName(applicationName);
        var blocks = new List<WebServerBlock>();
        if (GetAddress(endPoint) is not { } address || !IsPlain(address) || !IsPlain(pathBase))
            return blocks;

        if (IsInstalled("nginx", exists))
            blocks.Add(CreateNginx(address, pathBase, name, hasIPv6 ? "\n    listen [::]:80;" : ""));
        if (IsInstalled("apache2", exists) || IsInstalled("httpd", exists))
            blocks.Add(CreateApache(address, pathBase, name, exists("/etc/apache2/sites-available")));
        return blocks;
    }

    private static WebServerBlock CreateNginx(string address, string pathBase, string name, string listenToIPv6) => new(
        "nginx",
        $"/etc/nginx/conf.d/{name}.conf",
        "sudo nginx -t && sudo nginx -s reload",
        $$"""
        server {
            listen 80;{{listenToIPv6}}
            server_name localhost;

            location {{pathBase}}/ {
                include fastcgi_params;
                fastcgi_read_timeout 120s;
                fastcgi_pass {{address}};
            }
        }
        """);

    private static WebServerBlock CreateApache(string address, string pathBase, string name, bool isDebian)
    {
        var url = address.StartsWith("unix:", StringComparison.Ordinal)
            ? $"{address}|fcgi://{name}"
            : "fcgi://" + address;
        return new(
            "Apache",
            isDebian ? $"/etc/apache2/sites-available/{name}.conf" : $"conf.d/{name}.conf of its configuration",
            isDebian
                ? $"sudo a2enmod proxy_fcgi && sudo a2ensite {name} && sudo apachectl graceful"
                : "sudo apachectl graceful",
            $"""
            <VirtualHost *:80>
                ServerName localhost
                <Location "{pathBase}/">
                    CGIPassAuth On
                </Location>
                <IfDirective DeflateAlterETag>
                    DeflateAlterETag NoChange
                </IfDirective>
                ProxyPass "{pathBase}/" "{url}{pathBase}/" flushpackets=on timeout=120
            </VirtualHost>
            """);
    }

    /// <summary>Neither web server can connect to an abstract socket.</summary>
    private static string? GetAddress(EndPoint endPoint) => endPoint switch
    {
        IPEndPoint ip when ip.Address.Equals(IPAddress.Any) || ip.Address.Equals(IPAddress.IPv6Any)
            => new IPEndPoint(IPAddress.Loopback, ip.Port).ToString(),
        IPEndPoint ip => ip.ToString(),
        UnixDomainSocketEndPoint unix when unix.ToString() is ['/', ..] path => "unix:" + path,
        _ => null,
    };

    private static bool IsPlain(string text)
        => text.All(static c => char.IsAsciiLetterOrDigit(c) || "/.:_-[]~+@,=".Contains(c, StringComparison.Ordinal));

    private static string GetFileName(string applicationName)
    {
        var characters = applicationName.ToLowerInvariant()
            .Select(static c => char.IsAsciiLetterOrDigit(c) || c is '.' or '-' ? c : '-');
        var name = string.Concat(characters).Trim('.', '-');
        return name.Length > 0 ? name : "app";
    }

    public static bool IsInstalled(string program, Func<string, bool> exists)
        => s_serverFolders.Concat(Environment.GetEnvironmentVariable("PATH")?.Split(Path.PathSeparator) ?? [])
            .Any(folder => exists($"{folder}/{program}"));
}
