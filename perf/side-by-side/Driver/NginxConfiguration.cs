using System.Net;
using System.Net.Sockets;

namespace SideBySide.Driver;

/// <summary>
/// The same nginx in front of either server: one worker, persistent connections on both sides, and Debian's
/// fastcgi_params for FastCGI.
/// </summary>
internal static class NginxConfiguration
{
    private static readonly string[] s_params =
    [
        "QUERY_STRING $query_string", "REQUEST_METHOD $request_method", "CONTENT_TYPE $content_type",
        "CONTENT_LENGTH $content_length",
        "SCRIPT_NAME $fastcgi_script_name", "REQUEST_URI $request_uri", "DOCUMENT_URI $document_uri",
        "DOCUMENT_ROOT $document_root",
        "SERVER_PROTOCOL $server_protocol", "REQUEST_SCHEME $scheme", "HTTPS $https if_not_empty",
        "GATEWAY_INTERFACE CGI/1.1",
        "SERVER_SOFTWARE nginx/$nginx_version", "REMOTE_ADDR $remote_addr", "REMOTE_PORT $remote_port",
        "REMOTE_USER $remote_user",
        "SERVER_ADDR $server_addr", "SERVER_PORT $server_port", "SERVER_NAME $server_name", "REDIRECT_STATUS 200",
    ];

    /// <summary>The text of a configuration.</summary>
    /// <param name="folder">Where its files are.</param>
    /// <param name="listen">Where nginx listens.</param>
    /// <param name="backend">The server.</param>
    /// <param name="isFastCgi">Whether the server speaks FastCGI; otherwise HTTP.</param>
    /// <param name="isKept">Whether FastCGI connections are kept alive.</param>
    /// <param name="extra">More directives of the location.</param>
    public static string Make(
        string folder, IPEndPoint listen, EndPoint backend, bool isFastCgi, bool isKept = true, string extra = "")
    {
        var keep = isKept ? "on" : "off";
        var server = backend is UnixDomainSocketEndPoint ? $"unix:{backend}" : $"{backend}";
        var pass = isFastCgi
            ? $"fastcgi_pass backend; fastcgi_keep_conn {keep}; " + string.Concat(
                s_params.Select(static param => $"fastcgi_param {param}; "))
            : """proxy_pass http://backend; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $http_host; """
              + "proxy_set_header X-Forwarded-For $remote_addr; proxy_set_header X-Forwarded-Proto $scheme;";
        return $$"""
            daemon off;
            worker_processes 1;
            pid {{folder}}/pid;
            user root;
            events { worker_connections 30000; }
            worker_rlimit_nofile 50000;
            http {
              access_log off;
              error_log {{folder}}/error.log crit;
              keepalive_requests 1000000000;
              client_max_body_size 0;
              client_body_temp_path {{folder}};
              proxy_temp_path {{folder}};
              fastcgi_temp_path {{folder}};
              upstream backend { server {{server}}; keepalive 512; keepalive_requests 1000000000; }
              server {
                listen {{listen}} backlog=4096;
                location / { {{pass}} {{extra}} }
                location = /upload { proxy_request_buffering off; fastcgi_request_buffering off; {{pass}} }
                location /download/ { proxy_max_temp_file_size 0; fastcgi_max_temp_file_size 0; {{pass}} }
              }
            }
            """;
    }
}
