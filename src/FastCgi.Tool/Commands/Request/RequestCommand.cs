namespace FastCgi.Tool.Commands.Request;

internal sealed class RequestCommand : ToolCommand
{
    public RequestCommand(ToolConsole console)
        : base(console, "request",
            "Sends a request to a FastCGI application and writes the body of the response: curl for FastCGI.")
    {
        AddAddress();
        AddArgument("URL", "An http or https URL, or a path. Its scheme and host become parameters; "
            + "the connection goes to ADDRESS",
            static text => RequestTarget.TryParse(text) is null
                ? $"'{text}' is neither an http or https URL nor a path that begins with /."
                : null);
        AddText("--method", "METHOD", "The method; by default GET, or POST with -d", CheckPresence, "-X");
        AddTexts("--header", "'Name: value'", "A request header; repeatable",
            static text => CheckPair(text, ':', "'Name: value'"), "-H");
        AddParameters();
        AddText("--data", "DATA", "The body: text, @FILE, or @- for standard input",
            static text => text == "@" ? "'@' names no file." : null, "-d");
        AddText("--output", "FILE", "Write the body to a file", CheckPresence, "-o");
        AddFlag("--head", "Send HEAD, and write status and headers", "-I");
        AddFlag("--include", "Write status and headers before the body", "-i");
        AddFlag("--location", "Follow up to 20 redirects", "-L");
        AddFlag("--fail", "Exit with 1 if the status is 400 or higher", "-f");
        AddFlag("--verbose", "Show parameters and records on standard error", "-v");
        AddFlag("--show-secrets", "With -v, show cookies, credentials and certificates");
        AddChoice<FastCgiRequestRole>("--role", "The role of the application", FastCgiRequestRole.Responder);
        AddTimeoutAndJson("How long a request may take", 60);
    }

    protected override Task<int> RunAsync(ParseResult arguments, CancellationToken cancellationToken)
    {
        var data = arguments.GetText("--data");
        var method = data is null ? "GET" : "POST";
        if (arguments.Has("--head"))
            method = "HEAD";
        var options = new RequestOptions(arguments.GetAddress(), arguments.GetText("URL")!, arguments.GetTimeout())
        {
            Method = arguments.GetText("--method") ?? method,
            Headers = arguments.GetPairs("--header", ':'),
            Parameters = arguments.GetParameters(),
            Data = data,
            Output = arguments.GetText("--output"),
            Role = arguments.GetValue<FastCgiRequestRole>("--role"),
            WritesHead = arguments.Has("--include") || arguments.Has("--head"),
            FollowsRedirects = arguments.Has("--location"),
            FailsOnErrorStatus = arguments.Has("--fail"),
            IsVerbose = arguments.Has("--verbose"),
            ShowsSecrets = arguments.Has("--show-secrets"),
            IsJson = arguments.IsJson(),
        };
        return new RequestRun(Terminal, options, cancellationToken).RunAsync();
    }
}

/// <summary>A request, and what to write of its response.</summary>
internal sealed record RequestOptions(FastCgiAddress Address, string Url, TimeSpan Timeout)
{
    public string Method { get; init; } = "GET";
    public (string Name, string Value)[] Headers { get; init; } = [];
    public (string Name, string Value)[] Parameters { get; init; } = [];

    /// <summary>The body: text, <c>@FILE</c>, or <c>@-</c> for standard input.</summary>
    public string? Data { get; init; }
    public string? Output { get; init; }
    public FastCgiRequestRole Role { get; init; } = FastCgiRequestRole.Responder;
    public bool WritesHead { get; init; }
    public bool FollowsRedirects { get; init; }
    public bool FailsOnErrorStatus { get; init; }
    public bool IsVerbose { get; init; }
    public bool ShowsSecrets { get; init; }
    public bool IsJson { get; init; }
}
