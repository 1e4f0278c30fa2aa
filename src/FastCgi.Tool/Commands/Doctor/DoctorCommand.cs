namespace FastCgi.Tool.Commands.Doctor;

internal sealed class DoctorCommand : ToolCommand
{
    private const string Target = "ADDRESS|CONFIG-FILE";

    private static readonly Regex s_socketName = new(@"\.(sock|socket)\z|\A/(var/)?run/(.*/)?[^./]+\z");

    public DoctorCommand(ToolConsole console)
        : base(console, "doctor", "Finds problems between a web server and a FastCGI application.")
    {
        AddArgument(Target, "Where the application listens, or a configuration file of a web server", CheckTarget,
            isOptional: true);
        var server = new Option<string>("--server")
        {
            Description = "The kind of web server, if it is not recognized",
            HelpName = "NAME",
        };
        Add(server.AcceptOnlyFromAmong([.. WebServer.All.Select(static known => known.Name)]));
        AddPath();
        AddParameters();
        AddFlag("--no-connect", "Only read the configuration: run and send nothing");
        AddFlag("--trust", "Let the web server check a file that only other users than root own or may change");
        AddFlag("--strict", "Exit with code 1 for notes too");
        AddTimeoutAndJson("How long to wait for a response", 5);
    }

    protected override async Task<int> RunAsync(ParseResult arguments, CancellationToken cancellationToken)
    {
        if (arguments.GetText(Target) is { } target)
            return await RunAsync(arguments, target, cancellationToken);

        var files = WebServer.All.SelectMany(static server => server.Files).Where(File.Exists).ToList();
        if (files.Count == 0)
            throw CannotRun(
                "There is no web server configuration in /etc. Specify a configuration file or an address.");

        int? code = null;
        foreach (var file in files)
        {
            try
            {
                code = Math.Max(code ?? ExitCode.Ok, await RunAsync(arguments, file, cancellationToken));
            }
            catch (Exception exception) when (exception is ToolException or IOException or UnauthorizedAccessException)
            {
                // An installed web server may not use FastCGI. A file that cannot be read is a failure.
                var failed = Terminal.Fail(ExitCode.CannotRun, $"{file}: {exception.Message}", arguments.IsJson());
                code = exception is ToolException ? code : failed;
            }
        }

        return code ?? ExitCode.CannotRun;
    }

    private static string? CheckTarget(string text)
    {
        if (File.Exists(text) || Path.IsPathRooted(text) && s_socketName.IsMatch(text) && !Directory.Exists(text))
            return null;
        if (Directory.Exists(text))
            return $"'{text}' is a folder. Specify a configuration file.";
        if (Path.IsPathRooted(text))
            return $"'{text}' does not exist. For a socket that is still missing, use unix:{text}.";
        return FastCgiAddress.TryParse(text, out _)
            ? null
            : $"'{text}' is neither a file nor an address. {AddressForms}";
    }

    private async Task<int> RunAsync(ParseResult arguments, string target, CancellationToken cancellationToken)
    {
        var options = new DoctorOptions(arguments.GetText("--path")!, arguments.GetParameters(), arguments.GetTimeout(),
            arguments.Has("--no-connect"), arguments.Has("--trust"));
        var report = new DoctorReport { RunsPrograms = !options.IsOffline };
        var addresses = new AddressInspector(report, options, cancellationToken);
        // Not a socket.
        if (File.Exists(target) && (!OperatingSystem.IsLinux() || SocketFile.Read(target) is not { IsSocket: true }))
            await InspectAsync(report, addresses, options, target, arguments.GetText("--server"));
        else
            await addresses.InspectAsync(FastCgiAddress.Parse(target), userName: null, HeadBuffer.OfNginx(4096));
        if (options.IsOffline && report.IsEmpty)
            report.AddNotUnderstood($"{target}: with --no-connect, only configurations are checked");
        report.Write(Terminal, target, arguments.IsJson());
        return report.Problems > 0 || (arguments.Has("--strict") && report.Notes > 0) ? ExitCode.Failure : ExitCode.Ok;
    }

    private static async Task InspectAsync(
        DoctorReport report, AddressInspector addresses, DoctorOptions options, string file, string? name)
    {
        var characters = 0;
        var text = ConfigurationReader.ReadFile(file, ref characters);
        var content = text.TrimStart(ConfigurationReader.ByteOrderMark);
        var server = WebServer.Recognize(name, file, content);
        if (!options.IsOffline)
            server.Check(report, file, content, options.IsTrusted);

        var places = server.Find(report, file, text).ToList();
        foreach (var place in places)
        {
            (place.Server, place.All) = (server, places);
            await place.InspectAsync(report, addresses);
        }

        if (report.Problems == 0 && !places.Exists(static place => place.IsFastCgi))
            throw CannotRun(server.Without);
    }
}
