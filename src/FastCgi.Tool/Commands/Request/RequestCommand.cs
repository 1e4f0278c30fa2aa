using System.CommandLine;
using System.CommandLine.Parsing;
using FastCgi.Client;
using FastCgi.Tool.Terminal;

namespace FastCgi.Tool.Commands.Request;

/// <summary><c>fastcgi request</c>: curl for FastCGI.</summary>
internal static class RequestCommand
{
    private const string Description = "Sends a request to a FastCGI application and writes the body of the response: curl for FastCGI.";

    private const string Details =
        """
        Examples:
          fastcgi request 127.0.0.1:9000 http://example.com/
          fastcgi request /run/app.sock https://example.com/login -d 'user=x' -i -L
          fastcgi request /run/php/php-fpm.sock /index.php -p SCRIPT_FILENAME=/var/www/index.php -v
          fastcgi request 127.0.0.1:9000 / --repeat 100

        Exit codes: 0 success, 1 no response, an appStatus other than 0, or with -f a status of 400 or higher, 2 usage, 3 no connection.
        """;

    public static Command Create(ToolConsole console)
    {
        var address = CommonOptions.Address();
        var url = new Argument<string>("URL")
        {
            Description = "An http or https URL, or a path. Its scheme and host become parameters; the connection goes to ADDRESS",
            Validators = { static result => CheckUrl(result) },
        };
        var method = new Option<string>("--method", "-X") { Description = "The method; by default GET, or POST with -d", HelpName = "METHOD" };
        var headers = new Option<string[]>("--header", "-H")
        {
            Description = "A request header; repeatable",
            HelpName = "'Name: value'",
            Arity = ArgumentArity.ZeroOrMore,
            Validators = { static result => CommonOptions.CheckEach(result, ':', "'Name: value'") },
        };
        var parameters = CommonOptions.Parameters();
        var data = new Option<string>("--data", "-d") { Description = "The body: text, @FILE, or @- for standard input", HelpName = "DATA" };
        var output = new Option<string>("--output", "-o") { Description = "Write the body to a file", HelpName = "FILE" };
        var head = new Option<bool>("--head", "-I") { Description = "Send HEAD, and write status and headers" };
        var include = new Option<bool>("--include", "-i") { Description = "Write status and headers before the body" };
        var location = new Option<bool>("--location", "-L") { Description = "Follow up to 20 redirects" };
        var fail = new Option<bool>("--fail", "-f") { Description = "Exit with 1 if the status is 400 or higher" };
        var repeat = new Option<int>("--repeat")
        {
            Description = "Send the request several times, and write a summary instead of the body",
            HelpName = "NUMBER",
            DefaultValueFactory = static _ => 1,
            Validators = { static result => CommonOptions.CheckPositive(result) },
        };
        var verbose = new Option<bool>("--verbose", "-v") { Description = "Show parameters and records on standard error" };
        var secrets = new Option<bool>("--show-secrets") { Description = "With -v, show cookies, credentials and certificates" };
        var role = new Option<FastCgiRequestRole>("--role")
        {
            Description = "The role of the application",
            DefaultValueFactory = static _ => FastCgiRequestRole.Responder
        };
        var filtered = new Option<string>("--filter-file") { Description = "The file for a filter (FCGI_DATA)", HelpName = "FILE" };
        var timeout = CommonOptions.Timeout("How long a request may take", 60);
        var json = CommonOptions.Json();
        var command = new DescribedCommand("request", Description, Details)
        {
            address, url, method, headers, parameters, data, output, head, include, location, fail, repeat, verbose, secrets, role, filtered, timeout, json,
        };
        command.SetAction((result, cancellationToken) => new RequestRun(console, new RequestSettings
        {
            Address = result.GetValue(address)!,
            Url = result.GetValue(url)!,
            Method = result.GetValue(method) ?? (result.GetValue(head) ? "HEAD" : result.GetValue(data) is null ? "GET" : "POST"),
            Headers = [.. (result.GetValue(headers) ?? []).Select(static header => CommonOptions.Split(header, ':'))],
            Parameters = [.. (result.GetValue(parameters) ?? []).Select(static parameter => CommonOptions.Split(parameter, '='))],
            Data = result.GetValue(data),
            Output = result.GetValue(output),
            ShowsHeaders = result.GetValue(include) || result.GetValue(head),
            FollowsRedirects = result.GetValue(location),
            FailsOnErrorStatus = result.GetValue(fail),
            Repeat = result.GetValue(repeat),
            IsVerbose = result.GetValue(verbose),
            ShowsSecrets = result.GetValue(secrets),
            Role = result.GetValue(role),
            FilterFile = result.GetValue(filtered),
            Timeout = result.GetValue(timeout),
            IsJson = result.GetValue(json),
        }).RunAsync(cancellationToken));
        return command;
    }

    private static void CheckUrl(ArgumentResult result)
    {
        if (RequestTarget.TryParse(result.Tokens[0].Value) is null)
            result.AddError($"'{result.Tokens[0].Value}' is neither an http or https URL nor a path that begins with /.");
    }
}

/// <summary>The command line of <c>request</c>.</summary>
internal sealed record RequestSettings
{
    public required FastCgiAddress Address { get; init; }

    public required string Url { get; init; }

    public required string Method { get; init; }

    public (string Name, string Value)[] Headers { get; init; } = [];

    public (string Name, string Value)[] Parameters { get; init; } = [];

    public string? Data { get; init; }

    public string? Output { get; init; }

    public bool ShowsHeaders { get; init; }

    public bool FollowsRedirects { get; init; }

    public bool FailsOnErrorStatus { get; init; }

    public int Repeat { get; init; }

    public bool IsVerbose { get; init; }

    public bool ShowsSecrets { get; init; }

    public FastCgiRequestRole Role { get; init; }

    public string? FilterFile { get; init; }

    public TimeSpan Timeout { get; init; }

    public bool IsJson { get; init; }
}
