namespace FastCgi.AspNetCore.UnitTests;

/// <summary>References between the folders of the library, which are its namespaces, go one way.</summary>
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
        "Execution", "Requests", "Server", "Cgi", "Streams", "Protocol",
    ];

    /// <summary>
    /// The abstract classes and interfaces through which a stage calls one above it; no other may be implemented
    /// there.
    /// </summary>
    private static readonly string[] s_upcalls =
    [
        "Execution/ThreadPlatform", "Server/Advisor", "Streams/ConnectionTransport", "Streams/RequestStream",
        "Transport/TransportListener",
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
        ["Server"] = Below("Server"),
        ["Streams"] = Below("Streams"),
        ["Cgi"] = ["Protocol", Root],
        ["Protocol"] = [],
        ["Accounts"] = [],
        ["Buffers"] = [],
        ["Linux"] = ["Accounts", "Buffers"],
        ["Diagnostics"] = ["Protocol", Root],
        ["Authentication"] = ["Diagnostics"],
    };

    private static readonly Type[] s_types = typeof(FastCgiServerOptions).Assembly.GetTypes();

    [Fact]
    public void References_BetweenFolders_GoOneWay()
    {
        var violations = s_types.Where(IsOurs).SelectMany(static type => TypeReferences.Of(type)
            .Where(reference => IsOurs(reference) && !IsAllowed(type, reference))
            .Select(reference => $"{Name(type)} -> {Name(reference)}"));

        Assert.True(!violations.Any(), string.Join(Environment.NewLine, violations.Distinct()));
    }

    /// <summary>What is pure neither waits nor logs, and the core of the protocol knows nothing of HTTP.</summary>
    [Theory]
    [InlineData("Protocol", "^(?!System)|^System.Threading")]
    [InlineData("Buffers", "^(?!System)")]
    [InlineData("Cgi", "^System.Threading|^Microsoft.Extensions.Logging")]
    [InlineData("Streams", "^Microsoft.AspNetCore")]
    public void References_OfAPureFolder_AreNotToThese(string folder, string refused)
    {
        Assert.Empty(GetForeignReferences(folder, name => Regex.IsMatch(name, refused)));
        Assert.NotEmpty(GetForeignReferences("Requests", static name => Regex.IsMatch(name, "^Microsoft.AspNetCore")));
    }

    [Fact]
    public void Streams_NameNothingOfHttp()
    {
        foreach (var (path, _) in SourceFiles().Where(static file => file.Folder == "Streams"))
            Assert.DoesNotMatch(HttpName(), File.ReadAllText(path));
    }

    /// <summary>Constants and the like leave no trace in the assembly, so the source is checked.</summary>
    [Fact]
    public void Usings_OfEachFolder_GoOneWay()
    {
        var violations = SourceFiles().SelectMany(file => Using().Matches(File.ReadAllText(file.Path))
            .Select(match => (From: file.Folder, To: match.Groups[1].Value.Replace('.', '/')))
            .Where(static use => use.From.Length > 0 && use.From != use.To && !s_allowed[use.From].Contains(use.To))
            .Select(use => $"{file.Path} -> {use.To}"));

        Assert.Empty(violations);
    }

    /// <summary>
    /// A file below a folder of the global usings must not even name its types, of which the compiler may leave nothing
    /// either.
    /// </summary>
    [Fact]
    public void GlobalUsings_OfFoldersAbove_AreNotUsed()
    {
        var folders = GlobalUsing().Matches(File.ReadAllText(Repository.GetPath(
            "src/FastCgi.AspNetCore/GlobalUsings.cs"))).Select(static match => match.Groups[1].Value).ToList();
        var violations =
            from file in SourceFiles()
            where file.Folder.Length > 0
            from to in folders
            where to != file.Folder && !s_allowed[file.Folder].Contains(to)
            from found in FindConstants(File.ReadAllText(file.Path), to)
            select $"{file.Path} -> {found}";

        Assert.NotEmpty(folders);
        Assert.Empty(violations);
        Assert.Equal(
            ["RecordLog.Category"], FindConstants("x = RecordLog.Category;", "Diagnostics"));
    }

    [Fact]
    public void Upcalls_GoThroughTheNamedClasses_AndNoOthers()
    {
        var upcalls = s_types.Where(IsOurs).SelectMany(static type => type.GetInterfaces().Append(type.BaseType!)
            .Where(ancestor => ancestor is { IsVisible: false } && IsOurs(ancestor) && HasMembersToOverride(ancestor)
                && Folder(ancestor) != Folder(type) && Folder(ancestor) is not "Diagnostics")
            .Select(Name));

        Assert.Equal(s_upcalls, upcalls.Select(static name => name.Split('`')[0]).Distinct().Order());
    }

    [Fact]
    public void Folders_All_AreKnown()
        => Assert.Equal(s_allowed.Keys.ToHashSet(), s_types.Where(IsOurs).Select(Folder).ToHashSet());

    /// <summary>Code that depends on the system and its permissions is in one place.</summary>
    [Fact]
    public void SystemCalls_All_AreInLinux()
    {
        var files = SourceFiles().Where(static file => file.Folder != "Linux").Select(static file => file.Path);
        var imports = s_types.Where(type => IsOurs(type) && Folder(type) != "Linux")
            .SelectMany(static type => type.GetMethods(Declared))
            .Where(static method => method.Attributes.HasFlag(MethodAttributes.PinvokeImpl));

        Assert.Empty(imports);
        Assert.DoesNotContain(files, file => SystemCall().IsMatch(File.ReadAllText(file)));
        Assert.Contains(
            typeof(AspNetCore.Linux.Libc).GetMethods(Declared),
            static method => method.Attributes.HasFlag(MethodAttributes.PinvokeImpl));
    }

    [GeneratedRegex(@"DllImport|LibraryImport|[GS]et(Raw)?SocketOption|""/proc/")]
    private static partial Regex SystemCall();

    [GeneratedRegex(@"\b(Microsoft\.AspNetCore|StatusCodes|HttpMethods|HeaderNames|Known)\b")]
    private static partial Regex HttpName();

    private static bool HasMembersToOverride(Type type)
        => type.GetMethods(Declared).Any(static method => method is { IsVirtual: true, IsFinal: false });

    private static IEnumerable<string> FindConstants(string text, string folder)
        => s_types.Where(type => IsOurs(type) && Folder(type) == folder)
            .SelectMany(static type => type.GetFields(Declared).Where(
                static field => field.IsLiteral && !field.IsPrivate).Select(field => $"{type.Name}.{field.Name}"))
            .Where(name => Regex.IsMatch(text, $@"\b{Regex.Escape(name)}\b"));

    [GeneratedRegex(@"^global using FastCgi\.AspNetCore\.([\w.]+);", RegexOptions.Multiline)]
    private static partial Regex GlobalUsing();

    [GeneratedRegex(@"^using (?:static )?FastCgi\.AspNetCore\.([\w.]+);", RegexOptions.Multiline)]
    private static partial Regex Using();

    private static IEnumerable<(string Path, string Folder)> SourceFiles()
    {
        var library = Repository.GetPath("src/FastCgi.AspNetCore");
        return Directory.EnumerateFiles(library, "*.cs", SearchOption.AllDirectories)
            .Select(file => (Path: file, Folder: Path.GetDirectoryName(Path.GetRelativePath(library, file))!))
            .Where(static file => !file.Folder.StartsWith("obj", StringComparison.Ordinal)
                && !file.Folder.StartsWith("bin", StringComparison.Ordinal));
    }

    private static string[] Below(string stage)
        => [.. s_stages.SkipWhile(other => other != stage).Skip(1), Root, "Buffers", "Diagnostics"];

    private static bool IsAllowed(Type type, Type reference)
        => Folder(type) == Folder(reference) || s_allowed[Folder(type)].Contains(Folder(reference))
            || (Folder(type) == Root && s_addresses.Contains(reference.Name));

    private static IEnumerable<string> GetForeignReferences(string folder, Func<string, bool> isRefused)
        => s_types.Where(type => IsOurs(type) && Folder(type) == folder).SelectMany(type => TypeReferences.Of(type)
            .Where(reference => reference.Assembly != type.Assembly && isRefused(reference.Namespace ?? ""))
            .Select(reference => $"{Name(type)} -> {reference}"));

    /// <summary>Whether a type is from the library's source: compiler-generated types have other namespaces.</summary>
    private static bool IsOurs(Type type)
        => type.Assembly == typeof(FastCgiServerOptions).Assembly && Namespace(type) is { } name
            && (name.StartsWith(Library, StringComparison.Ordinal) || IsRoot(name));

    private static bool IsRoot(string name)
        => name is Library or "Microsoft.AspNetCore.Builder" or "Microsoft.AspNetCore.Hosting"
            or "Microsoft.Extensions.DependencyInjection" or "Microsoft.Extensions.Logging";

    private static string Folder(Type type)
    {
        var name = Namespace(type)!;
        if (name == Library)
            return Root;

        return name.StartsWith(Library, StringComparison.Ordinal)
            ? name[(Library.Length + 1)..].Replace('.', '/')
            : Extensions;
    }

    private static string? Namespace(Type type)
        => (type.IsGenericType ? type.GetGenericTypeDefinition() : type).Namespace;

    private static string Name(Type type) => $"{Folder(type)}/{(type.DeclaringType ?? type).Name}";
}
