using Microsoft.AspNetCore.Server.Kestrel.Core;

namespace FastCgi.AspNetCore.Hosting.Configuration;

using static SettingValues;

/// <summary>Binds <c>FastCgi</c> by hand: for trimming, and to report invalid settings by their path.</summary>
internal sealed class FastCgiServerOptionsSetup(IConfiguration configuration) : IConfigureOptions<FastCgiServerOptions>
{
    private readonly IConfigurationSection _section = configuration.GetSection(Settings.Root);

    public void Configure(FastCgiServerOptions options)
    {
        foreach (var setting in _section.GetChildren())
            Apply(setting, options);
    }

    private void Apply(IConfigurationSection setting, FastCgiServerOptions options)
    {
        var name = setting.Path[(_section.Path.Length + 1)..];
        switch (name.ToUpperInvariant())
        {
            case "LIMITS" or "SENDFILE" or "TRANSPORT":
                foreach (var member in Members(setting))
                    Apply(member, options);
                break;
            case "LIMITS:MINREQUESTBODYDATARATE":
                options.Limits.MinRequestBodyDataRate = ReadDataRate(setting);
                break;
            case "ENDPOINTS":
                foreach (var endpoint in Members(setting))
                    AddEndpoint(endpoint, options);
                break;
            case "ROLES":
                options.Roles.Clear();
                foreach (var role in Members(setting))
                    Set(role, () => options.Roles.Add(Choice<FastCgiRole>(role.Value)));
                break;
            case "SENDFILE:PASSEDHEADERS":
                foreach (var header in Members(setting))
                    Set(header, () => options.SendFile.PassedHeaders.Add(Required(header.Value)));
                break;
            case "SENDFILE:ROOTS":
                foreach (var root in Members(setting))
                    AddRoot(root, options.SendFile);
                break;
            default:
                var apply = Settings.Bindings.GetValueOrDefault(name) ?? throw Unknown(setting);
                Set(setting, () => apply(options, setting.Value));
                break;
        }
    }

    /// <summary>Reads the data rate. An empty value means no limit; the grace period has Kestrel's default.</summary>
    private static MinDataRate? ReadDataRate(IConfigurationSection setting)
    {
        ThrowIfUnknown(setting, nameof(MinDataRate.BytesPerSecond), nameof(MinDataRate.GracePeriod));
        if (!setting.GetChildren().Any())
            return null;

        var bytes = setting.GetSection(nameof(MinDataRate.BytesPerSecond));
        var grace = setting.GetSection(nameof(MinDataRate.GracePeriod));
        var (rate, period) = (0.0, TimeSpan.FromSeconds(5));
        Set(bytes, () => _ = new MinDataRate(rate = DecimalNumber(bytes.Value), period));
        if (grace.Value is not null)
            Set(grace, () => _ = new MinDataRate(rate, period = Time(grace.Value)));
        return new MinDataRate(rate, period);
    }

    private static void AddRoot(IConfigurationSection root, FastCgiSendFileOptions sendFile)
    {
        ThrowIfUnknown(root, "Path", "Location");
        var path = root.GetSection("Path");
        var location = root.GetSection("Location");
        if (location.Value is null)
            Set(path, () => sendFile.AddXSendFile(Required(path.Value)));
        else
            Set(location, () => sendFile.AddXAccelRedirect(Required(path.Value), location.Value));
    }

    private static void AddEndpoint(IConfigurationSection endpoint, FastCgiServerOptions options)
    {
        var url = endpoint["Url"];
        if (string.IsNullOrEmpty(url))
            throw new InvalidOperationException($"Configuration: {endpoint.Path} has no Url. Add one, such as "
                + "fastcgi://127.0.0.1:9000.");

        Set(endpoint.GetSection("Url"), () => options.Listen(url, listen =>
        {
            listen.Origin = endpoint.Path;
            foreach (var setting in endpoint.GetChildren())
                Set(setting, () => ApplyListenOption(setting, listen), isList: ListenSettings.IsList(setting.Key));
        }));
    }

    /// <summary>Applies an option. A list may be a comma-separated value, as in environment variables.</summary>
    private static void ApplyListenOption(IConfigurationSection setting, FastCgiListenOptions listen)
    {
        var items = setting.GetChildren().Select(static item => item.Value).Append(setting.Value)
            .Where(static value => value is not null).ToList();
        var value = items.Count == 0 ? null : string.Join(',', items);
        if (!setting.Key.Equals("Url", StringComparison.OrdinalIgnoreCase)
            && !ListenSettings.TryApply(setting.Key, value, listen))
            throw Unknown(setting);
    }

    private static IEnumerable<IConfigurationSection> Members(IConfigurationSection group)
        => string.IsNullOrEmpty(group.Value)
            ? group.GetChildren()
            : throw Invalid(group, "it is a group of settings and cannot have a value.");

    private static void ThrowIfUnknown(IConfigurationSection group, params string[] names)
    {
        if (Members(group).FirstOrDefault(
            member => !names.Contains(member.Key, StringComparer.OrdinalIgnoreCase)) is { } unknown)
            throw Unknown(unknown);
    }

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
            throw Invalid(setting, exception.Message, exception);
        }
    }

    private static InvalidOperationException Invalid(
        IConfigurationSection setting, string why, Exception? exception = null)
        => new($"Configuration: {setting.Path} = '{setting.Value}' is not valid: {why}", exception);

    private static InvalidOperationException Unknown(IConfigurationSection setting)
    {
        var advice = Settings.FindLike(setting.Path) is { } path
            ? $"Did you mean {path}?"
            : "See FastCgiServerOptions for the options.";
        return new($"Configuration: {setting.Path} is not an option of the FastCGI server. {advice}");
    }
}
