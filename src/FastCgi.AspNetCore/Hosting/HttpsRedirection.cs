using Microsoft.AspNetCore.HttpsPolicy;

namespace FastCgi.AspNetCore.Hosting;

/// <summary>Detects <c>UseHttpsRedirection</c> that never redirects, because the HTTPS port is unknown.</summary>
internal sealed class HttpsRedirection : IPostConfigureOptions<HttpsRedirectionOptions>
{
    private HttpsRedirectionOptions? _options;

    public void PostConfigure(string? name, HttpsRedirectionOptions options) => _options = options;

    public void Report(IConfiguration? configuration, IEnumerable<string> addresses, ILogger log)
    {
        var isPortKnown = !string.IsNullOrEmpty(configuration?["HTTPS_PORT"])
            || !string.IsNullOrEmpty(configuration?["ANCM_HTTPS_PORT"])
            || addresses.Any(static address => address.StartsWith("https:", StringComparison.OrdinalIgnoreCase));
        if (_options is { HttpsPort: null } && !isPortKnown)
            log.HttpsPortUnknown();
    }
}
