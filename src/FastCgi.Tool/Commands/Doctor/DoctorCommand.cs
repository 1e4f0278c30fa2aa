namespace FastCgi.Tool.Commands.Doctor;

/// <summary><c>fastcgi doctor</c>: what is wrong between a web server and an application.</summary>
internal sealed class DoctorCommand : ToolCommand
{
    private const string Target = "ADDRESS|CONFIG-FILE";

    public DoctorCommand(ToolConsole console)
        : base(console, "doctor", "Finds problems between a web server and a FastCGI application.",
            """
            For an address, it checks the socket, who may connect, what answers there, and the process. For a configuration (nginx, or the output of
            'nginx -T'; Apache; lighttpd; HAProxy), it first lets the web server check it, and then checks each place that passes requests to FastCGI,
            and the address there. It sends one GET to the application, and with --status another one. Without an argument, it checks the web servers
            of this machine.

            A problem fails now, or as soon as it is needed. A note depends on the application. Parts that are not understood are listed.

            Examples:
              fastcgi doctor
              fastcgi doctor /run/app/app.sock
              fastcgi doctor /etc/apache2/sites-enabled/app.conf --no-connect --json
              fastcgi doctor /etc/haproxy/haproxy.cfg --status /fastcgi-status

            Exit codes: 0 no problem, 1 problems (or, with --strict, notes), 2 usage, 3 it cannot be checked.
            """)
    {
        Add(new Argument<string>(Target)
        {
            Description = "Where the application listens, or a configuration file of a web server",
            Arity = ArgumentArity.ZeroOrOne,
            Validators = { static result => CheckTokens(result, CheckTarget) },
        });
        var server = new Option<string>("--server") { Description = "The kind of web server, if it is not recognized", HelpName = "NAME" };
        Add(server.AcceptOnlyFromAmong([.. WebServer.All.Select(static known => known.Name)]));
        AddPath();
        AddText("--status", "PATH", "Read the status of the application too, at the path of MapFastCgiStatus()");
        AddParameters();
        AddFlag("--no-connect", "Only read the configuration: run and send nothing");
        AddFlag("--strict", "Notes are exit code 1 too");
        AddTimeoutAndJson("How long to wait for an answer", 5);
    }

    protected override Task<int> RunAsync(ParseResult arguments, CancellationToken cancellationToken)
        => new DoctorRun(Terminal, new DoctorSettings(
            arguments.GetText(Target), arguments.GetText("--server"), arguments.GetText("--path")!, arguments.GetText("--status"), arguments.GetParameters(),
            arguments.Has("--no-connect"), arguments.Has("--strict"), arguments.GetTimeout(), arguments.IsJson())).RunAsync(cancellationToken);

    private static string? CheckTarget(string text)
        => FastCgiAddress.TryParse(text, out _) || File.Exists(text) ? null : $"'{text}' is neither a file nor an address. {AddressForms}";
}

/// <summary>The command line of <c>doctor</c>.</summary>
internal sealed record DoctorSettings(string? Target, string? Server, string Path, string? StatusPath, (string Name, string Value)[] Parameters,
    bool IsOffline, bool IsStrict, TimeSpan Timeout, bool IsJson);
