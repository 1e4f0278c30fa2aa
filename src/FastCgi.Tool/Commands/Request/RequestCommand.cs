using System.CommandLine;
using FastCgi.Client;
using FastCgi.Tool.Terminal;

namespace FastCgi.Tool.Commands.Request;

/// <summary><c>fastcgi request</c>: one request, and its answer.</summary>
internal static class RequestCommand
{
    private const string Description = "Sends one request to a FastCGI application and writes the body of the answer: a curl for FastCGI.";

    private const string Details =
        """
        Examples:
          fastcgi request 127.0.0.1:9000 http://example.com/
          fastcgi request /run/app.sock https://example.com/login -d 'user=x' -i
          fastcgi request /run/php/php-fpm.sock /index.php -p SCRIPT_FILENAME=/var/www/index.php -v

        Exit codes: 0 there is an answer, 1 there is none (or, with --fail, its status is 400 or higher), 2 usage, 3 no connection.
        """;

    public static Command Create(ToolConsole console)
    {
        var address = CommonOptions.Address();
        var url = new Argument<string>("URL")
        {
            Description = "An http or https URL, or a path. Its scheme and host become parameters; the connection goes to ADDRESS",
            Validators = { static result => CheckUrl(result) },
        };
        var method = new Option<string>("--method", "-X") { Description = "The method; GET, or with -d POST, if not given", HelpName = "METHOD" };
        var headers = new Option<string[]>("--header", "-H")
        {
            Description = "A header of the request; several may be given",
            HelpName = "'Name: value'",
            Arity = ArgumentArity.ZeroOrMore,
            Validators = { static result => CommonOptions.CheckEach(result, ':', "'Name: value'") },
        };
        var parameters = CommonOptions.Parameters();
        var data = new Option<string>("--data", "-d") { Description = "The body: text, @FILE, or @- for standard input", HelpName = "DATA" };
        var output = new Option<string>("--output", "-o") { Description = "Write the body to a file", HelpName = "FILE" };
        var include = new Option<bool>("--include", "-i") { Description = "Write status and headers before the body" };
        var verbose = new Option<bool>("--verbose", "-v") { Description = "Show the parameters and each record, in and out, on standard error" };
        var secrets = new Option<bool>("--show-secrets") { Description = "With -v, show cookies, credentials and certificates too" };
        var role = new Option<FastCgiRequestRole>("--role") { Description = "What is asked of the application", DefaultValueFactory = static _ => FastCgiRequestRole.Responder };
        var filtered = new Option<string>("--filter-file") { Description = "The file that a filter is given (FCGI_DATA)", HelpName = "FILE" };
        var fail = new Option<bool>("--fail") { Description = "Exit with 1 if the status is 400 or higher" };
        var timeout = CommonOptions.Timeout("How long the whole may take", 60);
        var json = CommonOptions.Json();
        var command = new DescribedCommand("request", Description, Details) { address, url, method, headers, parameters, data, output, include, verbose, secrets, role, filtered, fail, timeout, json };
        command.SetAction((result, cancellationToken) => new RequestRun(console, new RequestSettings(
            result.GetValue(address)!, result.GetValue(url)!, result.GetValue(method), result.GetValue(headers) ?? [], result.GetValue(parameters) ?? [],
            result.GetValue(data), result.GetValue(output), result.GetValue(include), result.GetValue(verbose), result.GetValue(secrets), result.GetValue(role),
            result.GetValue(filtered), result.GetValue(fail), result.GetValue(timeout), result.GetValue(json))).RunAsync(cancellationToken));
        return command;
    }

    private static void CheckUrl(System.CommandLine.Parsing.ArgumentResult result)
    {
        if (RequestTarget.TryParse(result.Tokens[0].Value) is null)
            result.AddError($"'{result.Tokens[0].Value}' is neither an http or https URL nor a path that begins with /.");
    }
}

/// <summary>What the command line of <c>request</c> says.</summary>
internal sealed record RequestSettings(
    FastCgiAddress Address, string Url, string? Method, string[] Headers, string[] Parameters, string? Data, string? Output, bool IncludesHeaders, bool IsVerbose,
    bool ShowsSecrets, FastCgiRequestRole Role, string? FilterFile, bool Fails, TimeSpan Timeout, bool IsJson);
