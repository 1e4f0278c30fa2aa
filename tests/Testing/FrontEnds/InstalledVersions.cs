using System.Collections.Concurrent;
using System.Text.RegularExpressions;

namespace FastCgi.AspNetCore.Testing.FrontEnds;

/// <summary>The versions of the installed web servers, on which some expectations depend.</summary>
public static partial class InstalledVersions
{
    private static readonly ConcurrentDictionary<FrontEndKind, Version> s_versions = new();

    /// <returns>0.0 if the web server is not installed, and its tests are skipped.</returns>
    public static Version Of(FrontEndKind kind) => s_versions.GetOrAdd(kind, Read);

    public static bool IsBefore(FrontEndKind kind, string version) => Of(kind) < Version.Parse(version);

    private static Version Read(FrontEndKind kind)
    {
        var start = new ProcessStartInfo(
            FrontEndProgram.Of(kind).Name, kind == FrontEndKind.Caddy ? "version" : "-v")
        {
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        try
        {
            using var process = Process.Start(start)!;
            // Each writes one or two lines, so neither pipe fills.
            return Version.Parse(
                Number().Match(process.StandardOutput.ReadToEnd() + process.StandardError.ReadToEnd()).Value);
        }
        catch (System.ComponentModel.Win32Exception)
        {
            return new Version(0, 0);
        }
    }

    [GeneratedRegex(@"\d+\.\d+(\.\d+)*")]
    private static partial Regex Number();
}
