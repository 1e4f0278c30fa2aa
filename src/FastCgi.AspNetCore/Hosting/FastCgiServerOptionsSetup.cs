using System.Globalization;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.Options;

namespace FastCgi.AspNetCore.Hosting;

/// <summary>
/// Reads the section <c>FastCgi</c> of the configuration. By hand, so that it works in a trimmed application, and so that a name or
/// value that is not understood is an error that says where it stands.
/// </summary>
internal sealed class FastCgiServerOptionsSetup(IConfiguration configuration) : IConfigureOptions<FastCgiServerOptions>
{
    private readonly IConfigurationSection _section = configuration.GetSection("FastCgi");

    /// <inheritdoc/>
    public void Configure(FastCgiServerOptions options)
    {
        foreach (var setting in _section.GetChildren())
            Apply(setting, options);
    }

    private static void Apply(IConfigurationSection setting, FastCgiServerOptions options)
    {
        switch (setting.Key.ToUpperInvariant())
        {
            case "TRANSPORT":
                foreach (var option in Members(setting))
                    Set(option, () => ApplyTransport(option, options.Transport));
                break;
            case "ENDPOINTS":
                foreach (var endpoint in Members(setting))
                    AddEndpoint(endpoint, options);
                break;
            case "SENDFILE":
                foreach (var option in Members(setting))
                    ApplySendFile(option, options.SendFile);
                break;
            case "ROLES":
                options.Roles.Clear();
                foreach (var role in Members(setting))
                    Set(role, () => options.Roles.Add(Choice<FastCgiRole>(role)));
                break;
            case "LIMITS":
                foreach (var limit in Members(setting))
                    Set(limit, () => ApplyLimit(limit, options.Limits));
                break;
            default:
                Set(setting, () => ApplyOption(setting, options));
                break;
        }
    }

    private static void ApplyOption(IConfigurationSection setting, FastCgiServerOptions options)
    {
        switch (setting.Key.ToUpperInvariant())
        {
            case "ALLOWSYNCHRONOUSIO":
                options.AllowSynchronousIO = bool.Parse(Required(setting));
                break;
            case "ALLOWANYCLIENTCERTIFICATE":
                options.AllowAnyClientCertificate = bool.Parse(Required(setting));
                break;
            case "IDLEEXIT":
                options.IdleExit = string.IsNullOrEmpty(setting.Value) ? null : Time(setting);
                break;
            case "PATHBASE":
                options.PathBase = setting.Value ?? string.Empty;
                break;
            case "PATHSOURCE":
                options.PathSource = Choice<FastCgiPathSource>(setting);
                break;
            case "PATHBASESOURCE":
                options.PathBaseSource = Choice<FastCgiPathBaseSource>(setting);
                break;
            case "TRACEIDENTIFIERPARAMETER":
                options.TraceIdentifierParameter = setting.Value;
                break;
            default:
                throw Unknown(setting);
        }
    }

    private static void ApplyLimit(IConfigurationSection limit, FastCgiServerLimits limits)
    {
        switch (limit.Key.ToUpperInvariant())
        {
            case "MAXCONCURRENTCONNECTIONS":
                limits.MaxConcurrentConnections = OptionalNumber(limit);
                break;
            case "MAXCONCURRENTREQUESTS":
                limits.MaxConcurrentRequests = OptionalNumber(limit);
                break;
            case "REQUESTQUEUELIMIT":
                limits.RequestQueueLimit = Number(limit);
                break;
            case "MAXREQUESTSPERCONNECTION":
                limits.MaxRequestsPerConnection = Number(limit);
                break;
            case "MAXREQUESTPARAMETERSTOTALSIZE":
                limits.MaxRequestParametersTotalSize = Number(limit);
                break;
            case "MAXREQUESTPARAMETERCOUNT":
                limits.MaxRequestParameterCount = Number(limit);
                break;
            case "MAXREQUESTBODYSIZE":
                limits.MaxRequestBodySize = OptionalNumber(limit);
                break;
            case "MAXREQUESTBUFFERSIZE":
                limits.MaxRequestBufferSize = OptionalNumber(limit);
                break;
            case "MAXRESPONSEBUFFERSIZE":
                limits.MaxResponseBufferSize = OptionalNumber(limit);
                break;
            case "MAXSTANDARDERRORSIZE":
                limits.MaxStandardErrorSize = OptionalNumber(limit);
                break;
            case "REQUESTPARAMETERSTIMEOUT":
                limits.RequestParametersTimeout = Time(limit);
                break;
            case "UNREADBODYTIMEOUT":
                limits.UnreadBodyTimeout = Time(limit);
                break;
            case "KEEPALIVETIMEOUT":
                limits.KeepAliveTimeout = string.IsNullOrEmpty(limit.Value) ? null : Time(limit);
                break;
            case "IDLEGRACE":
                limits.IdleGrace = Time(limit);
                break;
            case "DRAINTIMEOUT":
                limits.DrainTimeout = Time(limit);
                break;
            default:
                throw Unknown(limit);
        }
    }

    private static void ApplyTransport(IConfigurationSection option, FastCgiTransportOptions transport)
    {
        switch (option.Key.ToUpperInvariant())
        {
            case "ENGINE":
                transport.Engine = Choice<FastCgiTransportEngine>(option);
                break;
            case "APPLICATIONSCHEDULING":
                transport.ApplicationScheduling = Choice<FastCgiApplicationScheduling>(option);
                break;
            case "LOOPCOUNT":
                transport.LoopCount = Number(option);
                break;
            case "MAXAPPLICATIONTHREADS":
                transport.MaxApplicationThreads = Number(option);
                break;
            default:
                throw Unknown(option);
        }
    }

    private static void ApplySendFile(IConfigurationSection option, FastCgiSendFileOptions sendFile)
    {
        switch (option.Key.ToUpperInvariant())
        {
            case "PASSEDHEADERS":
                foreach (var name in Members(option))
                    Set(name, () => sendFile.PassedHeaders.Add(Required(name)));
                break;
            case "ROOTS":
                foreach (var root in Members(option))
                    AddRoot(root, sendFile);
                break;
            default:
                throw Unknown(option);
        }
    }

    private static void AddRoot(IConfigurationSection root, FastCgiSendFileOptions sendFile)
    {
        if (Members(root).FirstOrDefault(static setting => setting.Key.ToUpperInvariant() is not ("PATH" or "LOCATION")) is { } unknown)
            throw Unknown(unknown);

        var path = root.GetSection("Path");
        var location = root.GetSection("Location");
        if (location.Value is null)
            Set(path, () => sendFile.AddXSendfile(Required(path)));
        else
            Set(location, () => sendFile.AddXAccelRedirect(Required(path), location.Value));
    }

    private static void AddEndpoint(IConfigurationSection endpoint, FastCgiServerOptions options)
    {
        var url = endpoint["Url"];
        if (string.IsNullOrEmpty(url))
            throw new InvalidOperationException($"Configuration: {endpoint.Path} has no Url, such as fastcgi://127.0.0.1:9000.");

        Set(endpoint.GetSection("Url"), () => options.Listen(url, listen =>
        {
            foreach (var setting in endpoint.GetChildren())
                Set(setting, () => ApplyListenOption(setting, listen), isList: setting.Key.StartsWith("Allowed", StringComparison.OrdinalIgnoreCase));
        }));
    }

    /// <summary>Sets an option of an endpoint. A list may be one value with commas, for there are none in the environment and on the command line.</summary>
    private static void ApplyListenOption(IConfigurationSection setting, FastCgiListenOptions listen)
    {
        var items = setting.GetChildren().Select(static item => item.Value).Append(setting.Value).Where(static value => value is not null).ToList();
        var value = items.Count == 0 ? null : string.Join(',', items);
        if (!setting.Key.Equals("Url", StringComparison.OrdinalIgnoreCase) && !ListenSettings.TryApply(setting.Key, value, listen))
            throw Unknown(setting);
    }

    /// <summary>The settings of a group, which has no value of its own.</summary>
    private static IEnumerable<IConfigurationSection> Members(IConfigurationSection group) => string.IsNullOrEmpty(group.Value)
        ? group.GetChildren()
        : throw new InvalidOperationException($"Configuration: {group.Path} = '{group.Value}' is not valid: it is a group of settings, not a value.");

    /// <summary>Says where a value stands that the setter, or its parser, does not take.</summary>
    private static void Set(IConfigurationSection setting, Action apply, bool isList = false)
    {
        if (!isList && setting.GetChildren().FirstOrDefault() is { } member)
            throw Unknown(member);

        try
        {
            apply();
        }
        catch (Exception exception) when (exception is ArgumentException or FormatException or OverflowException)
        {
            throw new InvalidOperationException($"Configuration: {setting.Path} = '{setting.Value}' is not valid: {exception.Message}", exception);
        }
    }

    private static string Required(IConfigurationSection setting) => setting.Value ?? throw new FormatException("a value is missing.");

    /// <summary>A name of the enumeration. Numbers, which <see cref="Enum"/> would take, are none.</summary>
    private static T Choice<T>(IConfigurationSection setting)
        where T : struct, Enum
    {
        var name = Enum.GetNames<T>().FirstOrDefault(name => name.Equals(setting.Value, StringComparison.OrdinalIgnoreCase));
        return name is not null ? Enum.Parse<T>(name) : throw new FormatException($"it is one of {string.Join(", ", Enum.GetNames<T>())}.");
    }

    private static int Number(IConfigurationSection setting) => int.Parse(Required(setting), NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture);

    private static long? OptionalNumber(IConfigurationSection setting)
        => string.IsNullOrEmpty(setting.Value) ? null : long.Parse(setting.Value, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture);

    /// <summary>A number alone would be days, which nobody means.</summary>
    private static TimeSpan Time(IConfigurationSection setting) => Required(setting).Contains(':', StringComparison.Ordinal)
        ? TimeSpan.Parse(setting.Value!, CultureInfo.InvariantCulture)
        : throw new FormatException("a time is written as hours:minutes:seconds, such as 00:00:30.");

    private static InvalidOperationException Unknown(IConfigurationSection setting)
        => new($"Configuration: {setting.Path} is not an option of the FastCGI server. See FastCgiServerOptions for those that are.");
}
