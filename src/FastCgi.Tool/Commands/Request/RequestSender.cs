namespace FastCgi.Tool.Commands.Request;

internal sealed class RequestSender(FastCgiClient client, RequestOptions options, ToolConsole? verbose) : IDisposable
{
    private const int MostRedirects = 20;

    private static readonly string[] s_own = ["Host", "User-Agent", "Accept", "Content-Type", "Content-Length"];

    // Parts of the names of sensitive parameters: applications and web servers use many variants.
    private static readonly string[] s_secrets =
        ["COOKIE", "SESSION", "AUTHORIZATION", "CREDENTIAL", "PASSW", "PASSPHRASE", "AUTH_PW", "AUTH_DIGEST",
        "SECRET", "TOKEN", "API_KEY", "APIKEY", "ACCESS_KEY", "CLIENT_CERT", "CLIENTCERT", "SSL_CERT", "PRIVATE"];

    private Stream? _body;
    private bool _isInputRead;

    /// <summary>The parameters of the last request, without secrets.</summary>
    public IReadOnlyList<NamedValue> ShownParameters { get; private set; } = [];

    public async Task<FastCgiResponseMessage> SendAsync(CancellationToken cancellationToken)
    {
        var (url, method, hasBody) = (options.Url, options.Method, options.Data is not null);
        for (var redirects = 0; ; redirects++)
        {
            Dispose();
            var response = await client.SendAsync(Create(method, url, hasBody), cancellationToken);
            if (!options.FollowsRedirects || response.StatusCode is not (301 or 302 or 303 or 307 or 308)
                || !response.TryGetHeader("Location", out var location))
                return response;

            await response.DisposeAsync();
            if (redirects == MostRedirects)
                throw Failure($"More than {MostRedirects} redirects, the last one to {location}.");
            var from = new Uri(url.StartsWith('/') ? "http://localhost" + url : url);
            if (!Uri.TryCreate(from, location, out var next) || next.Scheme is not ("http" or "https"))
                throw Failure($"The redirect to '{location}' cannot be followed.");

            url = next.AbsoluteUri;
            verbose?.Say(PlainText.Line($"* {response.StatusCode}, redirected to {url}"));
            if (response.StatusCode == 303 || (response.StatusCode is 301 or 302 && method == "POST"))
                (method, hasBody) = (method == "HEAD" ? method : "GET", false);
        }
    }

    public void Dispose() => _body?.Dispose();

    private FastCgiRequestMessage Create(string method, string url, bool hasBody)
    {
        var target = RequestTarget.TryParse(url)!;
        var body = _body = hasBody ? OpenData() : null;
        var contentType = Find("Content-Type") ?? (body is null ? "" : "application/x-www-form-urlencoded");
        var contentLength = Find("Content-Length")
            ?? (body is { CanSeek: true, Length: > 0 } ? Invariant($"{body.Length}") : "");
        var request = new FastCgiRequestMessage
        {
            Role = options.Role,
            Body = body,
            Parameters = target.CreateParameters(
                method, Find("User-Agent") ?? "fastcgi-request", contentType, contentLength, Find("Host")),
        };
        request.Parameters.Add("HTTP_ACCEPT", Find("Accept") ?? "*/*");
        foreach (var (name, value) in options.Headers.Where(
            static header => !s_own.Contains(header.Name, StringComparer.OrdinalIgnoreCase)))
            request.Parameters.Add(HttpParameters.ToParameterName(name), value.Trim());
        foreach (var (name, value) in options.Parameters)
            request.Parameters[name] = value;
        ShownParameters = [.. request.Parameters.Select(Show)];
        foreach (var (name, value) in ShownParameters)
            verbose?.Say(PlainText.Line($"* {name}={value}"));
        return request;
    }

    /// <summary>Masks a sensitive value: users paste the output into reports.</summary>
    private NamedValue Show(FastCgiParameter parameter)
    {
        var upper = parameter.Name.ToUpperInvariant().Replace('-', '_');
        var isMasked = s_secrets.Any(upper.Contains) && parameter.Value.Length > 0 && !options.ShowsSecrets;
        return new NamedValue(parameter.Name, isMasked ? "***" : parameter.Value);
    }

    private string? Find(string name) => options.Headers
        .LastOrDefault(header => header.Name.Equals(name, StringComparison.OrdinalIgnoreCase)).Value?.Trim();

    private Stream OpenData()
    {
        if (options.Data is not ['@', .. var file])
            return new MemoryStream(Encoding.UTF8.GetBytes(options.Data!));
        if (file != "-")
            return File.OpenRead(file);
        if (_isInputRead)
            throw Usage("Standard input can be sent only once. Write it to a file, and use -d @FILE.");

        _isInputRead = true;
        return Console.OpenStandardInput();
    }
}
