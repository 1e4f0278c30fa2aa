using System.CommandLine.Parsing;

namespace FastCgi.Tool.Commands.Configuration;

internal sealed class ConfigCommand : ToolCommand
{
    private static readonly Regex s_hostName = new(@"\A[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?\z");
    private static readonly Regex s_pathBase = new(@"\A(/[A-Za-z0-9_-]+)+\z");
    private static readonly Regex s_userName = new(@"\A[a-z_][a-z0-9_-]*\z");
    private static readonly string[] s_kinds = [.. ConfigurationTemplate.Kinds, SharedHostingFiles.Kind];
    private static readonly Regex s_socketPath = new(@"\A/[A-Za-z0-9._/-]+\z");

    public ConfigCommand(ToolConsole console)
        : base(console, "config", "Writes a web server configuration or a systemd unit for an application.")
    {
        var kind = new Argument<string>("KIND")
        {
            Description = "One of " + string.Join(", ", s_kinds),
            HelpName = "KIND",
        };
        Add(kind.AcceptOnlyFromAmong(s_kinds));
        Add(new Option<FastCgiAddress>("--address")
        {
            Description = "Where the application listens",
            HelpName = "ADDRESS",
            CustomParser = ParseAddress,
        });
        AddText("--name", "NAME", "The host name of the site, or the user and the folders of the unit",
            static text => s_hostName.IsMatch(text) ? null : $"'{text}' is not a host name.");
        AddText("--path-base", "/PATH", "The path of the application with --tls",
            static text => s_pathBase.IsMatch(text) ? null : $"'{text}' is not a path such as /app.");
        AddFlag("--tls", "Write the full configuration, with TLS");
        AddFlag("--client-certificates", "With --tls, also ask clients for a certificate");
        AddFlag("--behind-balancer", "Write the configuration behind a load balancer");
        AddText("--program", "NAME", "The program, with htaccess", SharedHostingFiles.CheckProgram);
        AddText("--output", "FOLDER", "The folder to write the two files of htaccess to", CheckPresence);
        AddFlag("--json", "Write JSON");
        Validators.Add(static result =>
        {
            if (FindMisuse(result) is { } misuse)
                result.AddError(misuse);
        });
    }

    protected override Task<int> RunAsync(ParseResult arguments, CancellationToken cancellationToken)
    {
        if (arguments.GetText("KIND") == SharedHostingFiles.Kind)
            return Task.FromResult(WriteSharedHosting(arguments));
        var template = ConfigurationTemplate.Read(
            arguments.GetText("KIND")!, arguments.Has("--tls"), arguments.Has("--behind-balancer"));
        if (template.Kind != ConfigurationTemplate.Systemd)
            template = template.For(InstalledVersion.Find(template.Kind));
        if (arguments.Has("--tls") && !arguments.Has("--client-certificates"))
            template = template.WithoutClientCertificates();
        var address = arguments.GetValue<FastCgiAddress>("--address");
        if (address is { IsUnix: true } && !s_socketPath.IsMatch($"{address.EndPoint}"))
            throw Usage(
                $"'{address.EndPoint}' is not supported: a socket path may contain only letters, digits and . _ - /");
        if (template.TryFill(address, arguments.GetText("--name"), arguments.GetText("--path-base")) is not { } text)
            throw Usage($"The unit can create only the folder of a socket /run/USER/FILE, not that of {address}.");
        return Task.FromResult(Write(arguments, new ConfigDocument(template.Kind, template.Source, text)));
    }

    /// <returns>What does not fit the kind or another option, or <see langword="null"/>.</returns>
    private static string? FindMisuse(CommandResult arguments)
    {
        var kind = arguments.GetValue<string>("KIND");
        string[] unsupported = kind switch
        {
            SharedHostingFiles.Kind => ["--address", "--name", "--path-base", "--tls", "--behind-balancer"],
            ConfigurationTemplate.Systemd => ["--tls", "--behind-balancer"],
            _ => [],
        };
        if (Find(unsupported) is { } other)
            return $"{kind} does not support {other}.";
        if (kind != SharedHostingFiles.Kind && Find("--program", "--output") is { } own)
            return $"{own} requires {SharedHostingFiles.Kind}.";
        if (Find("--tls") is null && Find("--path-base", "--client-certificates") is { } part)
            return $"{part} requires --tls.";
        if (Find("--tls") is not null && Find("--behind-balancer") is not null)
            return "--tls and --behind-balancer exclude each other: the load balancer terminates TLS.";
        return kind == ConfigurationTemplate.Systemd && arguments.GetValue<string>("--name") is { } name
            && !s_userName.IsMatch(name) ? $"'{name}' is not the name of a user, such as shop." : null;

        string? Find(params string[] names)
            => names.FirstOrDefault(name => arguments.GetResult(name) is OptionResult { Implicit: false });
    }

    private int WriteSharedHosting(ParseResult arguments)
    {
        var files = new SharedHostingFiles(arguments.GetText("--program") ?? "hello");
        var text = arguments.GetText("--output") is { } folder
            ? string.Concat(files.Write(folder).Select(static path => path + "\n"))
            : files.Text;
        return Write(arguments, new ConfigDocument(SharedHostingFiles.Kind, SharedHostingFiles.Source, text));
    }

    private int Write(ParseResult arguments, ConfigDocument document)
    {
        if (arguments.IsJson())
            Terminal.WriteJson(document, ToolJson.Default.ConfigDocument);
        else
            Terminal.Out.Write(document.Text);
        return ExitCode.Ok;
    }
}

internal sealed record ConfigDocument(string Kind, string Source, string Text);
