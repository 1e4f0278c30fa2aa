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
        AddNumber("--repeat", "Send the request several times, and write a summary instead of the body");
        AddFlag("--verbose", "Show parameters and records on standard error", "-v");
        AddFlag("--show-secrets", "With -v, show cookies, credentials and certificates");
        AddChoice<FastCgiRequestRole>("--role", "The role of the application", FastCgiRequestRole.Responder);
        AddTimeoutAndJson("How long a request may take", 60);
    }

    protected override Task<int> RunAsync(ParseResult arguments, CancellationToken cancellationToken)
        => new RequestRun(Terminal, arguments, cancellationToken).RunAsync();
}
