namespace FastCgi.Tool.Commands.Request;

internal sealed class RequestSender(FastCgiClient client, ParseResult arguments, ToolConsole? verbose) : IDisposable
{
    private const int MostRedirects = 20;

    private static readonly string[] s_own = ["Host", "User-Agent", "Accept", "Content-Type", "Content-Length"];

    private readonly (string Name, string Value)[] _headers = arguments.GetPairs("--header", ':');
    private readonly string? _data = arguments.GetText("--data");
    private Stream? _body;
    private bool _isInputRead;

    /// <summary>The parameters of the last request, without secrets.</summary>
    public IReadOnlyList<NamedValue> ShownParameters { get; private set; } = [];

    public async Task<FastCgiResponseMessage> SendAsync(CancellationToken cancellationToken)
    {
        var (url, hasBody) = (arguments.GetText("URL")!, _data is not null);
        var method = arguments.GetText("--method") ?? (hasBody ? "POST" : "GET");
        if (arguments.Has("--head") && arguments.GetText("--method") is null)
            method = "HEAD";
        for (var redirects = 0; ; redirects++)
        {
            Dispose();
            var response = await client.SendAsync(Create(method, url, hasBody), cancellationToken);
            if (!arguments.Has("--location") || response.StatusCode is not (301 or 302 or 303 or 307 or 308)
                || !response.TryGetHeader("Location", out var location))
                return response;

            await response.DisposeAsync();
            if (redirects == MostRedirects)
                throw new ToolException(ExitCode.Failure,
                    $"More than {MostRedirects} redirects, the last one to {location}.");
            var from = new Uri(url.StartsWith('/') ? "http://localhost" + url : url);
            if (!Uri.TryCreate(from, location, out var next) || next.Scheme is not ("http" or "https"))
                throw new ToolException(ExitCode.Failure, $"The redirect to '{location}' cannot be followed.");

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
        var role = arguments.GetValue<FastCgiRequestRole>("--role");
        var request = new FastCgiRequestMessage { Role = role, Body = body };
        var contentType = Find("Content-Type") ?? (body is null ? "" : "application/x-www-form-urlencoded");
        var contentLength = Find("Content-Length")
            ?? (body is { CanSeek: true, Length: > 0 } ? Invariant($"{body.Length}") : "");
        HttpParameters.AddTarget(
            request.Parameters, method, target.PathAndQuery, Encoding.UTF8.GetBytes(contentType), contentLength);
        var local = new IPEndPoint(IPAddress.Loopback, target.Port);
        HttpParameters.AddConnection(
            request.Parameters, target.Scheme, "HTTP/1.1", new IPEndPoint(IPAddress.Loopback, 0), local, target.Host);
        request.Parameters.Add("HTTP_HOST", Find("Host") ?? target.HostAndPort);
        request.Parameters.Add("HTTP_USER_AGENT", Find("User-Agent") ?? "fastcgi-request");
        request.Parameters.Add("HTTP_ACCEPT", Find("Accept") ?? "*/*");
        foreach (var (name, value) in _headers.Where(
            static header => !s_own.Contains(header.Name, StringComparer.OrdinalIgnoreCase)))
            request.Parameters.Add(HttpParameters.ToParameterName(name), value.Trim());
        foreach (var (name, value) in arguments.GetParameters())
            request.Parameters[name] = value;
        var showsSecrets = arguments.Has("--show-secrets");
        ShownParameters = [.. request.Parameters.Select(parameter
            => new NamedValue(parameter.Name, showsSecrets
                ? parameter.Value
                : Secrets.Mask(parameter.Name, parameter.Value)))];
        foreach (var (name, value) in ShownParameters)
            verbose?.Say(PlainText.Line($"* {name}={value}"));
        return request;
    }

    private string? Find(string name)
        => _headers.LastOrDefault(header => header.Name.Equals(name, StringComparison.OrdinalIgnoreCase)).Value?.Trim();

    private Stream OpenData()
    {
        if (_data is not ['@', .. var file])
            return new MemoryStream(Encoding.UTF8.GetBytes(_data!));
        if (file != "-")
            return File.OpenRead(file);
        if (_isInputRead)
            throw new ToolException(ExitCode.Usage,
                "Standard input can be sent only once. Write it to a file, and use -d @FILE.");

        _isInputRead = true;
        return Console.OpenStandardInput();
    }
}
