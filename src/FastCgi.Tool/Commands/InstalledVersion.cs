using System.Collections.Concurrent;

namespace FastCgi.Tool.Commands;

/// <summary>Asks the installed web servers for their versions, each once.</summary>
internal static class InstalledVersion
{
    private static readonly Regex s_number = new(@"\d+\.\d+(\.\d+)*");

    private static readonly ConcurrentDictionary<string, Version?> s_versions = new();

    /// <returns><see langword="null"/> if the program is missing or does not say it.</returns>
    public static Version? Find(string server) => s_versions.GetOrAdd(server, static name => name switch
    {
        "apache" => Ask("apache2", "-v") ?? Ask("httpd", "-v"),
        "caddy" => Ask(name, "version"),
        _ => Ask(name, "-v"),
    });

    private static Version? Ask(string program, string argument)
        => SystemCommand.Run(program, argument) is (0, var error, var output)
            && s_number.Match(output + error) is { Success: true } number
                ? Version.Parse(number.Value)
                : null;
}
