using System.Text.RegularExpressions;

namespace FastCgi.AspNetCore.Testing;

/// <summary>The programs and files that tests need, with their Debian packages (<c>tests/packages.txt</c>).</summary>
public static class Programs
{
    // tests/run.sh sets it: a missing program must not skip tests there.
    private const string AreRequired = "FASTCGI_TEST_REQUIRE_PROGRAMS";

    // The columns of each row, by the second one.
    private static readonly Dictionary<string, string[]> s_rows = File
        .ReadLines(Path.Combine(AppContext.BaseDirectory, "packages.txt"))
        .Where(static line => !line.StartsWith('#'))
        .Select(static line => line.Split(' ', StringSplitOptions.RemoveEmptyEntries))
        .ToDictionary(static row => row[1]);

    // Only the running test project has a file with this name in its folder.
    private static readonly string? s_project = Directory.GetFiles(AppContext.BaseDirectory, "*Tests.deps.json")
        .Select(static file => Path.GetFileName(file)[..^".deps.json".Length]
            .Replace("FastCgi.", "").Replace("AspNetCore.", "")).SingleOrDefault();

    // An ordinary user's search path lacks the folder of the web servers.
    private static readonly string[] s_folders =
        [.. (Environment.GetEnvironmentVariable("PATH") ?? "").Split(':'), "/usr/sbin"];

    /// <summary>The parameters beside the configuration of nginx. Skips the test if nginx is not installed.</summary>
    public static string NginxParameters
    {
        get
        {
            Require("nginx");
            return "/etc/nginx/fastcgi_params";
        }
    }

    /// <summary>Skips the test, or fails it in <c>tests/run.sh</c>, if a program or file is not installed.</summary>
    /// <param name="names">Names and paths of the second column.</param>
    public static void Require(params ReadOnlySpan<string> names)
    {
        foreach (var name in names)
        {
            if (!IsInstalled(name))
                throw CreateException(name);
        }
    }

    /// <summary>Whether programs or files are installed.</summary>
    public static bool AreInstalled(params ReadOnlySpan<string> names)
    {
        foreach (var name in names)
        {
            if (!IsInstalled(name))
                return false;
        }

        return true;
    }

    /// <summary>Skips the test if a program complains about a missing command or module.</summary>
    public static void RequireNamedIn(string output)
    {
        foreach (var name in s_rows.Keys)
        {
            if (Regex.IsMatch(output, $@"\b{Regex.Escape(Path.GetFileName(name))}['""]?: .*(not found|No such file)"))
                Require(name);
        }
    }

    /// <summary>The path of a program. Skips the test if it is not installed.</summary>
    public static string Find(string name)
    {
        Require(name);
        return s_folders.Select(folder => Path.Combine(folder, name)).First(File.Exists);
    }

    private static bool IsInstalled(string name)
    {
        // Installed or not: on a new machine, tests/run.sh installs only what the rows of the project name.
        if (s_rows.TryGetValue(name, out var row) && s_project is not null && !row.Contains(s_project))
            throw new InvalidOperationException($"In packages.txt, the row of {name} lacks {s_project}.");

        return s_folders.Select(folder => Path.Combine(folder, name))
            .Any(static path => path.EndsWith('*') ? HasMatch(path) : Path.Exists(path));
    }

    private static bool HasMatch(string pattern)
        => Directory.EnumerateFiles(Path.GetDirectoryName(pattern)!, Path.GetFileName(pattern)).Any();

    private static Exception CreateException(string name)
    {
        var package = s_rows.TryGetValue(name, out var row) ? row[0] : name;
        var message = $"The Debian package {package.TrimEnd('?')} is not installed.";
        return Environment.GetEnvironmentVariable(AreRequired) == "1" && !package.EndsWith('?')
            ? new InvalidOperationException(message)
            : new MissingProgramException(message);
    }
}

/// <summary>Skips the test that throws it; see <see cref="SkippingTestFramework"/>.</summary>
public sealed class MissingProgramException(string message) : Exception(message);
