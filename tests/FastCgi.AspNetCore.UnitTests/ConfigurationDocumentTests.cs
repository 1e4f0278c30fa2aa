using System.Collections;

namespace FastCgi.AspNetCore.UnitTests;

/// <summary>
/// Each public option has a row in <c>docs/configuration.md</c>, with its names and its default; and each row is one of
/// an option.
/// </summary>
public sealed partial class ConfigurationDocumentTests
{
    private static readonly string s_document = File.ReadAllText(Repository.GetPath("docs/configuration.md"));

    private static readonly List<Row> s_rows = [.. OptionRow().Matches(s_document).Select(static match => new Row(
        match.Groups["name"].Value, match.Groups["default"].Value, match.Groups["unit"].Value,
        match.Groups["text"].Value))];

    // Functions cannot be configured.
    private static readonly string[] s_codeOnly = ["RequestHeaderEncodingSelector", "ResponseHeaderEncodingSelector"];

    // The system determines the value, so the document describes it in words.
    private static readonly Dictionary<string, string> s_defaultsInWords = new()
    {
        ["options.Transport.LoopCount"] = "half the processors, 1 to 16",
        ["options.RequestHeaderEncodingSelector"] = "UTF-8",
        ["options.ResponseHeaderEncodingSelector"] = "ASCII",
        ["listen.EndPoint"] = "none",
    };

    [Fact]
    public void Options_Each_HasItsRow()
    {
        var options = new FastCgiServerOptions();
        options.ListenLocalhost(9000);

        // Folders are added by methods; the parts of a rate belong to its class.
        var rows = s_rows.Where(static row => !row.Name.Contains("Roots:"))
            .Where(static row => !row.Name.Contains("DataRate:"))
            .Select(static row => (row.Code, row.Default));
        Assert.Equal(GetOptions(options).Order(), rows.Order());
    }

    [Fact]
    public void Rows_Each_HaveTheNamesOfTheConfiguration()
    {
        string[] groups =
            ["FastCgi:Transport", "FastCgi:Endpoints", "FastCgi:SendFile", "FastCgi:Limits", "FastCgi:SendFile:Roots"];
        var names = s_rows.Select(static row => row.Name).Except(s_codeOnly).Select(static name => $"FastCgi:{name}");

        Assert.Equal(
            Settings.Paths.Except(groups).Order(StringComparer.Ordinal), names.Order(StringComparer.Ordinal));
    }

    [Fact]
    public void Rows_Each_SayUnitAndEffect()
    {
        Assert.All(s_rows, static row => Assert.NotEmpty(row.Text));
        Assert.All(s_rows.Where(static row => row.Default.All(static letter => char.IsDigit(letter) || letter == ',')),
            static row => Assert.NotEmpty(row.Unit));
    }

    /// <summary>Blocks that a reader copies into appsettings.json are valid.</summary>
    [Fact]
    public void Json_InEachDocument_IsUnderstood()
    {
        var documents = Directory.EnumerateFiles(Repository.GetPath("docs"), "*.md").Append(
            Repository.GetPath("README.md"));
        var blocks = documents.SelectMany(static document => JsonBlock().Matches(File.ReadAllText(document)))
            .Select(static match => match.Groups[1].Value).ToList();

        Assert.NotEmpty(blocks);
        foreach (var block in blocks)
        {
            using var stream = new MemoryStream(Encoding.UTF8.GetBytes(block));
            new FastCgiServerOptionsSetup(new ConfigurationBuilder().AddJsonStream(stream).Build()).Configure(
                new FastCgiServerOptions());
        }
    }

    private static IEnumerable<(string Code, string Default)> GetOptions(FastCgiServerOptions options)
        => GetOptions("options", options)
            .Concat(GetOptions("options.Limits", options.Limits))
            .Concat(GetOptions("options.Transport", options.Transport))
            .Concat(GetOptions("options.SendFile", options.SendFile))
            .Concat(GetOptions("listen", options.ListenOptions[0]));

    private static IEnumerable<(string Code, string Default)> GetOptions(string owner, object options)
        => options.GetType().GetProperties(BindingFlags.Public | BindingFlags.Instance | BindingFlags.DeclaredOnly)
            .Where(static property => property.PropertyType.Assembly != typeof(FastCgiServerOptions).Assembly
                || property.PropertyType.IsEnum)
            .Select(property => (
                $"{owner}.{property.Name}",
                s_defaultsInWords.GetValueOrDefault($"{owner}.{property.Name}") ?? Format(property.GetValue(options))));

    private static string Format(object? value) => value switch
    {
        null => "none",
        "" => "empty",
        bool flag => flag ? "true" : "false",
        TimeSpan time => time.ToString("c", CultureInfo.InvariantCulture),
        Enum choice => $"`{choice}`",
        string text => text,
        IEnumerable list => list.Cast<object>().Select(static item => $"`{item}`").DefaultIfEmpty("empty").Aggregate(
            static (left, right) => $"{left}, {right}"),
        IFormattable number => number.ToString("N0", CultureInfo.InvariantCulture),
        _ => throw new InvalidOperationException($"A default of the type {value.GetType()}."),
    };

    [GeneratedRegex(
        @"^\| `(?<name>[A-Z]\w+(:\w+)*)` " +
            @"\| (?<default>[^|]*?)( (?<unit>bytes|requests|connections|parameters|threads))? \| (?<text>[^|]+) \|$",
        RegexOptions.Multiline | RegexOptions.ExplicitCapture)]
    private static partial Regex OptionRow();

    [GeneratedRegex(@"^```json\n(.*?)^```$", RegexOptions.Multiline | RegexOptions.Singleline)]
    private static partial Regex JsonBlock();

    private sealed record Row(string Name, string Default, string Unit, string Text)
    {
        public string Code => Name switch
        {
            "Endpoints:NAME:Url" => "listen.EndPoint",
            _ when Name.StartsWith("Endpoints:NAME:", StringComparison.Ordinal)
                => $"listen.{Name["Endpoints:NAME:".Length..]}",
            _ => $"options.{Name.Replace(':', '.')}",
        };
    }
}
