namespace FastCgi.AspNetCore.UnitTests;

/// <summary>
/// References between the folders of the library, which are its namespaces, go one way. The words of the source are
/// compared with the names of types, because the compiler leaves no trace of constants and unused usings.
/// </summary>
public sealed partial class LayeringTests
{
    private const BindingFlags Declared =
        BindingFlags.DeclaredOnly | BindingFlags.Public | BindingFlags.NonPublic
            | BindingFlags.Static | BindingFlags.Instance;

    private const string Library = "FastCgi.AspNetCore";

    /// <summary>Options, roles and features: what every stage may use.</summary>
    private const string Root = "";

    /// <summary>Code that only the user calls: the extensions.</summary>
    private const string Extensions = "Extensions";

    /// <summary>The stages, each above those it may refer to.</summary>
    private static readonly string[] s_stages = [
        "Status", "Hosting", "Hosting/Configuration", "Hosting/Endpoints", "Advice", "Transport/Epoll", "Transport",
        "Execution", "Requests", "Cgi", "Streams", "Protocol",
    ];

    /// <summary>
    /// The abstract classes and interfaces through which a stage calls one above it; no other may be implemented
    /// there.
    /// </summary>
    private static readonly string[] s_upcalls =
    [
        "Execution/ThreadPlatform", "Requests/Advisor", "Streams/ConnectionTransport", "Streams/RequestStream",
        "Streams/StreamContext", "Transport/EventLoop", "Transport/LoopConnection", "Transport/TransportListener",
    ];

    /// <summary>What the options use of Hosting: the text form of addresses.</summary>
    private static readonly string[] s_addresses = ["EndpointAddress", "InheritedSocketEndPoint"];

    private static readonly Dictionary<string, string[]> s_allowed = new()
    {
        [Root] = [],
        [Extensions] = [Root, "Status", "Hosting", "Authentication", "Diagnostics", "Requests"],
        ["Status"] = [.. Below("Status"), "Linux"],
        ["Hosting"] = [.. Below("Hosting"), "Linux"],
        ["Hosting/Configuration"] = Below("Hosting/Configuration"),
        ["Hosting/Endpoints"] = [.. Below("Hosting/Endpoints"), "Linux"],
        ["Advice"] = [.. Below("Advice"), "Accounts", "Linux"],
        ["Transport/Epoll"] = [.. Below("Transport/Epoll"), "Linux"],
        ["Transport"] = [.. Below("Transport"), "Linux"],
        ["Execution"] = Below("Execution"),
        ["Requests"] = Below("Requests"),
        ["Streams"] = Below("Streams"),
        ["Cgi"] = ["Protocol", Root],
        ["Protocol"] = [],
        ["Accounts"] = [],
        ["Buffers"] = [],
        ["Linux"] = ["Accounts", "Buffers"],
        ["Diagnostics"] = ["Protocol", Root],
        ["Authentication"] = [Root, "Requests"],
    };

    private static readonly Type[] s_types =
        [.. typeof(FastCgiServerOptions).Assembly.GetTypes().Where(IsOurs)];

    private static readonly List<(string Name, string Folder, string Text)> s_files = [.. ReadFiles()];

    [Fact]
    public void References_BetweenFolders_GoOneWay()
    {
        var folders = s_types.Where(static type => !type.IsNested).DistinctBy(GetName)
            .ToDictionary(GetName, GetFolder);
        var violations =
            from file in s_files
            from name in GetWords(file.Text).Where(folders.ContainsKey)
            let folder = folders[name]
            where folder != file.Folder && !s_allowed[file.Folder].Contains(folder)
                && !(file.Folder == Root && s_addresses.Contains(name))
            select $"{file.Name} -> {folder}/{name}";
        Assert.Empty(violations);
        Assert.Equal(s_allowed.Keys.Order(), s_files.Select(static file => file.Folder).Distinct().Order());
    }

    /// <summary>A call of an extension method names no type.</summary>
    [Fact]
    public void Usings_OfEachFolder_GoOneWay()
        => Assert.Empty(
            from file in s_files
            where file.Folder is not (Root or Extensions)
            from match in Using().Matches(file.Text)
            let folder = match.Groups[1].Value.Replace('.', '/')
            where folder != file.Folder && !s_allowed[file.Folder].Contains(folder)
            select $"{file.Name} -> {folder}");

    /// <summary>What is pure neither waits nor logs, and the core of the protocol knows nothing of HTTP.</summary>
    [Theory]
    [InlineData("Protocol", "^(?!System)|^System.Threading")]
    [InlineData("Buffers", "^(?!System)")]
    [InlineData("Cgi", "^System.Threading|^Microsoft.Extensions.Logging")]
    [InlineData("Streams", "^Microsoft.AspNetCore")]
    public void References_OfAPureFolder_AreNotToThese(string folder, string refused)
    {
        var names = typeof(FastCgiServerOptions).Assembly.GetReferencedAssemblies()
            .SelectMany(static name => Assembly.Load(name).GetExportedTypes())
            .Where(type => !type.IsNested && Regex.IsMatch(type.Namespace ?? "", refused))
            .Select(GetName)
            .ToHashSet();
        Assert.NotEmpty(names);
        Assert.Empty(s_files.Where(file => file.Folder == folder).SelectMany(
            file => GetWords(file.Text).Where(names.Contains).Select(name => $"{file.Name} -> {name}")));
    }

    [Fact]
    public void Streams_NameNothingOfHttp()
        => Assert.DoesNotContain(
            s_files, static file => file.Folder == "Streams" && HttpName().IsMatch(file.Text));

    [Fact]
    public void Upcalls_GoThroughTheNamedClasses_AndNoOthers()
    {
        var upcalls = s_types.SelectMany(static type => type.GetInterfaces().Append(type.BaseType!)
            .Where(ancestor => ancestor is { IsVisible: false } && IsOurs(ancestor) && HasMembersToOverride(ancestor)
                && GetFolder(ancestor) != GetFolder(type) && GetFolder(ancestor) is not "Diagnostics")
            .Select(static ancestor => $"{GetFolder(ancestor)}/{GetName(ancestor)}"));
        Assert.Equal(s_upcalls, upcalls.Distinct().Order());
    }

    /// <summary>Code that depends on the system and its permissions is in one place.</summary>
    [Fact]
    public void SystemCalls_All_AreInLinux()
    {
        Assert.DoesNotContain(
            s_files, static file => file.Folder != "Linux" && SystemCall().IsMatch(file.Text));
        Assert.Contains(s_files, static file => file.Folder == "Linux" && SystemCall().IsMatch(file.Text));
    }

    [GeneratedRegex(@"DllImport|LibraryImport|[GS]et(Raw)?SocketOption|""/proc/")]
    private static partial Regex SystemCall();

    [GeneratedRegex(@"\b(Microsoft\.AspNetCore|StatusCodes|HttpMethods|HeaderNames|Known)\b")]
    private static partial Regex HttpName();

    [GeneratedRegex(@"^using (?:static )?FastCgi\.AspNetCore\.([\w.]+);", RegexOptions.Multiline)]
    private static partial Regex Using();

    [GeneratedRegex(@"\b[A-Z]\w+\b")]
    private static partial Regex Word();

    [GeneratedRegex(@"(?<!\S)//[^\n]*")]
    private static partial Regex Comment();

    [GeneratedRegex(@"^namespace (?!FastCgi)", RegexOptions.Multiline)]
    private static partial Regex ForeignNamespace();

    private static IEnumerable<(string Name, string Folder, string Text)> ReadFiles()
    {
        var library = Repository.GetPath("src/FastCgi.AspNetCore");
        return from file in Directory.EnumerateFiles(library, "*.cs", SearchOption.AllDirectories)
               let name = Path.GetRelativePath(library, file)
               let folder = Path.GetDirectoryName(name)!
               where folder.Split('/')[0] is not ("obj" or "bin") && name != "GlobalUsings.cs"
               let text = Comment().Replace(File.ReadAllText(file), "")
               select (name, ForeignNamespace().IsMatch(text) ? Extensions : folder, text);
    }

    private static IEnumerable<string> GetWords(string text)
        => Word().Matches(text).Select(static word => word.Value).Distinct();

    private static bool HasMembersToOverride(Type type)
        => type.GetMethods(Declared).Any(static method => method is { IsVirtual: true, IsFinal: false });

    private static string[] Below(string stage)
        => [.. s_stages.SkipWhile(other => other != stage).Skip(1), Root, "Buffers", "Diagnostics"];

    /// <summary>Whether a type is from the library's source: compiler-generated types have other namespaces.</summary>
    private static bool IsOurs(Type type)
        => type.Assembly == typeof(FastCgiServerOptions).Assembly && type.Namespace is { } name
            && (name.StartsWith(Library, StringComparison.Ordinal) || name is "Microsoft.AspNetCore.Builder"
                or "Microsoft.AspNetCore.Hosting" or "Microsoft.Extensions.DependencyInjection"
                or "Microsoft.Extensions.Logging");

    private static string GetFolder(Type type)
    {
        var name = type.Namespace!;
        if (name == Library)
            return Root;

        return name.StartsWith(Library, StringComparison.Ordinal)
            ? name[(Library.Length + 1)..].Replace('.', '/')
            : Extensions;
    }

    private static string GetName(Type type) => type.Name.Split('`')[0];
}
