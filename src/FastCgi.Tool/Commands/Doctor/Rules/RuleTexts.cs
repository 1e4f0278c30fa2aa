namespace FastCgi.Tool.Commands.Doctor.Rules;

/// <summary>Pages and fixes that several rules share.</summary>
internal static class RuleTexts
{
    public const string BadRequest = "troubleshooting.md#400-bad-request";
    public const string Unauthorized = "troubleshooting.md#401-unauthorized";
    public const string NotFound = "troubleshooting.md#404-not-found";
    public const string BadGateway = "troubleshooting.md#502-bad-gateway";
    public const string PermissionDenied = "troubleshooting.md#permission-denied";

    public const string RemoveLine = "# remove this line";

    /// <summary>For Apache behind a load balancer.</summary>
    public const string HttpsFromBalancer = "SetEnvIfExpr "
        + "\"%{CONN_REMOTE_ADDR} == '192.0.2.10' && req('X-Forwarded-Proto') == 'https'\" HTTPS=on";

    public const string LargerNginxBuffers = "fastcgi_buffer_size 16k;\nfastcgi_buffers 8 16k;";
}
