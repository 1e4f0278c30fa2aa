using System.CommandLine;
using System.Text.RegularExpressions;
using FastCgi.Client;
using FastCgi.Tool.Terminal;

namespace FastCgi.Tool.Commands.Configuration;

/// <summary><c>fastcgi config</c>: a web server's configuration.</summary>
internal static partial class ConfigCommand
{
    private const string Description = "Writes a web server configuration or a systemd unit for an application.";

    private const string Details =
        """
        It writes the tested configurations of docs/front-ends, with the given address and host. The default is the smallest one. --tls writes the
        full one: TLS, HTTP/2, client certificates, and the application under a path too. --behind-balancer trusts the scheme and the client's
        address from a load balancer.

        Examples:
          fastcgi config nginx --address /run/app/app.sock --name example.com
          fastcgi config apache --address 127.0.0.1:9000 --name example.com --tls --path-base /shop
          fastcgi config systemd --address /run/app/app.sock --json

        Exit codes: 0 success, 2 usage.
        """;

    public static Command Create(ToolConsole console)
    {
        var kind = new Argument<string>("KIND") { Description = "One of " + string.Join(", ", ConfigurationTemplate.Kinds), HelpName = "KIND" };
        kind.AcceptOnlyFromAmong(ConfigurationTemplate.Kinds);
        var address = CommonOptions.AddressOption("--address", "Where the application listens");
        var name = new Option<string>("--name") { Description = "The host name of the site", HelpName = "HOST" };
        var pathBase = new Option<string>("--path-base") { Description = "Another path of the application; with --tls", HelpName = "/PATH" };
        var tls = new Option<bool>("--tls") { Description = "The full configuration, with TLS" };
        var balancer = new Option<bool>("--behind-balancer") { Description = "The configuration behind a load balancer" };
        var json = CommonOptions.Json();
        name.Validators.Add(static result => CheckText(result, HostName(), "a host name"));
        pathBase.Validators.Add(static result => CheckText(result, PathBase(), "a path such as /app"));
        var command = new DescribedCommand("config", Description, Details) { kind, address, name, pathBase, tls, balancer, json };
        command.Validators.Add(result =>
        {
            if (result.GetValue(tls) && result.GetValue(balancer))
                result.AddError("--tls and --behind-balancer exclude each other: the load balancer ends TLS.");
            if (result.GetValue(pathBase) is not null && !result.GetValue(tls))
                result.AddError("--path-base needs --tls.");
            if (result.GetValue(kind) == ConfigurationTemplate.Systemd
                && (result.GetValue(tls) || result.GetValue(balancer) || result.GetValue(name) is not null))
                result.AddError("systemd does not support --name, --tls and --behind-balancer.");
            if (result.GetValue(address) is { EndPoint: System.Net.Sockets.UnixDomainSocketEndPoint unix } && !SocketPath().IsMatch(unix.ToString()!))
                result.AddError($"'{unix}' is not supported: the path of the socket may have letters, digits and . _ - / only.");
        });
        command.SetAction(result => Write(console, new ConfigSettings(
            result.GetValue(kind)!, result.GetValue(address), result.GetValue(name), result.GetValue(pathBase), result.GetValue(tls),
                result.GetValue(balancer), result.GetValue(json))));
        return command;
    }

    private static int Write(ToolConsole console, ConfigSettings settings)
    {
        var template = ConfigurationTemplate.Read(settings.Kind, settings.UsesTls, settings.IsBehindBalancer);
        if (template.TryFill(settings) is not { } text)
            return console.Fail(ExitCode.Usage, $"The unit creates the folder of a socket /run/NAME/FILE, but not that of {settings.Address}.",
                settings.IsJson);
        if (settings.IsJson)
            console.WriteJson(new ConfigDocument(settings.Kind, template.Source, text), ToolJson.Default.ConfigDocument);
        else
            console.Out.Write(text);
        return ExitCode.Ok;
    }

    private static void CheckText(System.CommandLine.Parsing.OptionResult result, Regex form, string what)
    {
        if (result.Tokens is [var token] && !form.IsMatch(token.Value))
            result.AddError($"'{token.Value}' is not {what}.");
    }

    [GeneratedRegex(@"\A[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?\z")]
    private static partial Regex HostName();

    [GeneratedRegex(@"\A(/[A-Za-z0-9_-]+)+\z")]
    private static partial Regex PathBase();

    [GeneratedRegex(@"\A/[A-Za-z0-9._/-]+\z")]
    private static partial Regex SocketPath();
}

/// <summary>The command line of <c>config</c>.</summary>
internal sealed record ConfigSettings(string Kind, FastCgiAddress? Address, string? Name, string? PathBase, bool UsesTls, bool IsBehindBalancer, bool IsJson);

/// <summary>What <c>config --json</c> writes.</summary>
internal sealed record ConfigDocument(string Kind, string Source, string Text);
