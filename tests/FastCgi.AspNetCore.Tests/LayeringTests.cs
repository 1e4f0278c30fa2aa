using System.Reflection;
using System.Text.RegularExpressions;

namespace FastCgi.AspNetCore.Tests;

/// <summary>References between the folders of the library, which are its namespaces, go one way.</summary>
public sealed partial class LayeringTests
{
    private const BindingFlags Declared =
        BindingFlags.DeclaredOnly | BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.Static | BindingFlags.Instance;

    private const string Library = "FastCgi.AspNetCore";

    /// <summary>What the user touches: options, which every stage reads, and the extension that starts it all.</summary>
    private const string Root = "";

    /// <summary>The stages, each above those it may refer to.</summary>
    private static readonly string[] s_stages = ["Hosting", "Transport", "Execution", "Connections", "Requests", "Responses", "Cgi", "Protocol"];

    private static readonly Dictionary<string, string[]> s_allowed = new()
    {
        [Root] = ["Hosting", "Authentication", "Diagnostics"],
        ["Hosting"] = [.. Below("Hosting"), "Linux"],
        ["Transport"] = [.. Below("Transport"), "Linux"],
        ["Execution"] = Below("Execution"),
        ["Connections"] = Below("Connections"),
        ["Requests"] = Below("Requests"),
        ["Responses"] = Below("Responses"),
        ["Cgi"] = Below("Cgi"),
        ["Protocol"] = [],
        ["Buffers"] = [],
        ["Linux"] = ["Buffers"],
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

        Assert.Empty(violations.Distinct());
    }

    [Theory]
    [InlineData("Protocol")]
    [InlineData("Buffers")]
    public void References_OfPureFolder_AreTheBaseLibraryOnly(string folder)
        => Assert.Empty(GetForeignReferences(folder, static name => !name.StartsWith("System", StringComparison.Ordinal)));

    [Theory]
    [InlineData("Protocol", "System.Threading")]
    [InlineData("Cgi", "System.Threading")]
    [InlineData("Cgi", "Microsoft.Extensions.Logging")]
    public void References_OfPureFolder_NeitherAwaitNorLog(string folder, string refused)
        => Assert.Empty(GetForeignReferences(folder, name => name.StartsWith(refused, StringComparison.Ordinal)));

    [Fact]
    public void Folders_All_AreKnown()
        => Assert.Equal(s_allowed.Keys.ToHashSet(), s_types.Where(IsOurs).Select(Folder).ToHashSet());

    /// <summary>What depends on the system, and on what it allows, is in one place.</summary>
    [Fact]
    public void SystemCalls_All_AreInLinux()
    {
        var library = Repository.GetPath("src/FastCgi.AspNetCore");
        var files = Directory.EnumerateFiles(library, "*.cs", SearchOption.AllDirectories)
            .Select(file => Path.GetRelativePath(library, file))
            .Where(static file => !file.StartsWith("obj", StringComparison.Ordinal) && !file.StartsWith("Linux", StringComparison.Ordinal));
        var imports = s_types.Where(type => IsOurs(type) && Folder(type) != "Linux")
            .SelectMany(static type => type.GetMethods(Declared))
            .Where(static method => method.Attributes.HasFlag(MethodAttributes.PinvokeImpl));

        Assert.Empty(imports);
        Assert.DoesNotContain(files, file => SystemCall().IsMatch(File.ReadAllText(Path.Combine(library, file))));
        Assert.Contains(typeof(AspNetCore.Linux.Libc).GetMethods(Declared), static method => method.Attributes.HasFlag(MethodAttributes.PinvokeImpl));
    }

    /// <summary>The test sees what it should: the code of methods, lambdas, iterators and generic arguments.</summary>
    [Fact]
    public void TypeReferences_OfThisTest_AreFound()
    {
        var types = typeof(Sample).GetNestedTypes(BindingFlags.NonPublic).Append(typeof(Sample));
        var references = types.SelectMany(TypeReferences.Of).ToHashSet();

        Assert.Superset(new HashSet<Type> { typeof(Uri), typeof(Version), typeof(FormatException), typeof(TimeProvider), typeof(Random) }, references);
    }

    [GeneratedRegex(@"DllImport|LibraryImport|[GS]et(Raw)?SocketOption|""/proc/")]
    private static partial Regex SystemCall();

    private static string[] Below(string stage) => [.. s_stages.SkipWhile(other => other != stage).Skip(1), Root, "Buffers", "Diagnostics"];

    private static bool IsAllowed(Type type, Type reference)
        => Folder(type) == Folder(reference) || s_allowed[Folder(type)].Contains(Folder(reference));

    private static IEnumerable<string> GetForeignReferences(string folder, Func<string, bool> isRefused)
        => s_types.Where(type => IsOurs(type) && Folder(type) == folder).SelectMany(type => TypeReferences.Of(type)
            .Where(reference => reference.Assembly != type.Assembly && isRefused(reference.Namespace ?? ""))
            .Select(reference => $"{Name(type)} -> {reference}"));

    /// <summary>Whether a type is of the library's source: what the compiler adds has other namespaces.</summary>
    private static bool IsOurs(Type type)
        => type.Assembly == typeof(FastCgiServerOptions).Assembly && Namespace(type) is { } name
            && (name.StartsWith(Library, StringComparison.Ordinal) || IsRoot(name));

    private static bool IsRoot(string name)
        => name is Library or "Microsoft.AspNetCore.Builder" or "Microsoft.AspNetCore.Hosting" or "Microsoft.Extensions.DependencyInjection" or "Microsoft.Extensions.Logging";

    private static string Folder(Type type) => IsRoot(Namespace(type)!) ? Root : Namespace(type)![(Library.Length + 1)..].Split('.')[0];

    private static string? Namespace(Type type) => (type.IsGenericType ? type.GetGenericTypeDefinition() : type).Namespace;

    private static string Name(Type type) => $"{Folder(type)}/{(type.DeclaringType ?? type).Name}";

    private sealed class Sample : IComparer<Version>
    {
        public int Compare(Version? x, Version? y) => Texts([]).Count();

        private static IEnumerable<string> Texts(object[] values)
        {
            try
            {
                return values.OfType<Uri>().Select(static uri => uri.Host + TimeProvider.System.GetTimestamp());
            }
            catch (FormatException)
            {
                return Enumerate();
            }
        }

        private static IEnumerable<string> Enumerate()
        {
            yield return Random.Shared.Next().ToString(System.Globalization.CultureInfo.InvariantCulture);
        }
    }
}
