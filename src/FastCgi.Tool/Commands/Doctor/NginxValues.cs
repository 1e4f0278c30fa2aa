namespace FastCgi.Tool.Commands.Doctor;

/// <summary>The possible values of a variable, and whether a client chooses one of them.</summary>
internal sealed record NginxValue(HashSet<string> Texts, bool IsChosen)
{
    public bool IsOfClient => IsChosen || Texts.Any(static text => text.Contains(NginxValues.Client));

    public bool Has(char mark) => Texts.Any(text => text.Contains(mark));

    public bool Equals(NginxValue? other)
        => other is not null && IsChosen == other.IsChosen && Texts.SetEquals(other.Texts);

    public override int GetHashCode() => Texts.Count;

    public NginxValue Or(NginxValue other, bool isChosen)
        => new([.. Texts, .. other.Texts], IsChosen || other.IsChosen || (isChosen && !Texts.SetEquals(other.Texts)));
}

/// <summary>
/// Evaluates nginx's <c>set</c>, <c>if</c>, <c>map</c> and <c>geo</c> for a place, as for a stranger. A mark in a text
/// stands for what is unknown.
/// </summary>
internal sealed class NginxValues
{
    /// <summary>Any text, from a header, a cookie, or the query.</summary>
    public const char Client = '\uE000';

    /// <summary>Any text, from elsewhere.</summary>
    public const char Open = '\uE001';

    /// <summary>The address of the stranger, which no line names.</summary>
    public const char Foreign = '\uE002';

    // More combinations are not told apart.
    private const int MostTexts = 64;
    private const int LongestText = 4096;
    private const int DeepestMap = 20;

    private static readonly Regex s_variable = new(@"\$(\{(?<name>\w+)\}|(?<name>\w+))");
    private static readonly Regex s_group = new(@"\(\?P?<(?<name>\w+)>");
    private static readonly Regex s_literal = new(@"\G(\\[^\w]|[\w:/,@=;%#&<>""' -](?![*?{]))");
    private static readonly Regex s_secret = new(@"^(?=.*\d)(?=.*[A-Za-z])[\w+/=-]{16,}$");
    private static readonly Regex s_ofClient = new(
        "^(http|arg|cookie|proxy_protocol)_|"
        + "^(args|query_string|request_body|content_type|proxy_add_x_forwarded_for)$",
        RegexOptions.IgnoreCase);
    private static readonly Regex s_foreign = new(
        "^(realip_|ssl_client_|(binary_)?remote_addr$)", RegexOptions.IgnoreCase);

    // nginx does not distinguish the case of variables.
    private readonly Dictionary<string, NginxValue> _set = new(StringComparer.OrdinalIgnoreCase);
    private readonly Dictionary<string, NginxValue> _mapped = new(StringComparer.OrdinalIgnoreCase);
    private readonly Func<string, string?> _known;
    private readonly List<Directive> _tables;
    private readonly Directive _pass;
    private int _depth;

    /// <param name="lines">The <c>set</c> and <c>if</c> directives of the server.</param>
    /// <param name="known">The values of variables in a certain request; null for others.</param>
    public NginxValues(
        Directive pass, IEnumerable<Directive> lines, IEnumerable<Directive> tables, Func<string, string?> known)
    {
        (_pass, _known) = (pass, known);
        _tables = [.. tables];
        // Those of the server are executed first.
        foreach (var line in lines.OrderBy(static line => line.Around.Count(static block => !block.Is("if"))))
            Execute(line);
    }

    public NginxValue Get(string text) => Expand(text, null, []);

    /// <summary>Whether an <c>if</c> applies.</summary>
    public Chance Test(Directive condition)
    {
        string[] words = [.. condition.Arguments];
        if (words.Length == 0)
            return Chance.Open;
        words[0] = words[0].TrimStart('(');
        words[^1] = words[^1] is [.. var word, ')'] ? word : words[^1];
        words = [.. words.Where((word, index) => word.Length > 0 || index > 1)];
        if (words is not [['$', ..] or ['"', ..], ..])
            return Chance.Open;

        var value = Get(words[0]);
        var operation = words.ElementAtOrDefault(1) ?? "";
        var operand = words.ElementAtOrDefault(2) ?? "";
        var answers = value.Texts.Select(text => operation.TrimStart('!') switch
        {
            "" => IsTrue(text),
            "=" => IsMatch(text, operand),
            "~" => IsPatternMatch(text, operand),
            "~*" => IsPatternMatch(text, "(?i)" + operand),
            _ => null,
        }).ToHashSet();
        var chance = value.IsOfClient ? Chance.Chosen : Chance.Open;
        if (answers.Count == 1 && answers.Single() is { } sure)
            chance = sure ? Chance.Always : Chance.Never;
        return operation is ['!', ..] ? Stranger.Negate(chance) : chance;
    }

    /// <returns><see langword="null"/> if it may be or not.</returns>
    public static bool? IsTrue(string text) => text is [Client or Open] ? null : text is not ("" or "0");

    private void Execute(Directive line)
    {
        var conditions = line.Around.Where(static block => block.Is("if")).Append(line.Is("if") ? line : null)
            .OfType<Directive>().ToList();
        var chance = conditions.Aggregate(Chance.Always, (all, block) => Stranger.Both(all, Test(block)));
        if (!line.Around.All(block => block.Is("if") || _pass.Around.Contains(block)))
            chance = Stranger.Both(chance, Chance.Open);
        if (chance == Chance.Never)
            return;

        var captured = conditions.Exists(block => Get(block.Arguments.FirstOrDefault("").TrimStart('(')).IsOfClient)
            ? Client
            : Open;
        if (line.Is("set") && line.Arguments is [['$', .. var name], var text])
            Assign(name, Expand(text, captured, []), chance);
        else if (line.Is("if"))
            foreach (var group in FindGroups(line.Text))
                Assign(group, new([captured.ToString()], false), chance);
    }

    private void Assign(string name, NginxValue value, Chance chance)
    {
        _set[name] = chance == Chance.Always
            ? value
            : value.Or(_set.GetValueOrDefault(name, new([""], false)), chance == Chance.Chosen);
        _mapped.Clear();
    }

    private static IEnumerable<string> FindGroups(string pattern)
        => s_group.Matches(pattern).Select(static match => match.Groups["name"].Value);

    /// <param name="captured">The mark of what a pattern has captured.</param>
    private NginxValue Expand(string text, char? captured, string[] groups)
    {
        var value = new NginxValue([""], false);
        var end = 0;
        foreach (Match match in s_variable.Matches(text))
        {
            var name = match.Groups["name"].Value;
            var part = char.IsAsciiDigit(name[0]) || groups.Contains(name)
                ? new([(captured ?? Open).ToString()], false)
                : GetVariable(name);
            value = Append(value, new([text[end..match.Index]], false));
            value = Append(value, part);
            end = match.Index + match.Length;
        }

        return Append(value, new([text[end..]], false));
    }

    private static NginxValue Append(NginxValue value, NginxValue part)
    {
        var isChosen = value.IsChosen || part.IsChosen;
        var texts = value.Texts.SelectMany(_ => part.Texts, static (start, end) => start + end).ToHashSet();
        if (texts.Count > MostTexts || texts.Any(static text => text.Length > LongestText))
            texts = [value.IsOfClient || part.IsOfClient ? $"{Client}" : $"{Open}"];
        return new(texts, isChosen);
    }

    private NginxValue GetVariable(string name)
    {
        if (_known(name.ToLowerInvariant()) is { } known)
            return new([known], false);
        if (_set.TryGetValue(name, out var value))
            return value;

        if (_mapped.TryGetValue(name, out value))
            return value;

        var table = _depth > DeepestMap ? null : _tables.FindLast(table
            => string.Equals(table.Arguments.LastOrDefault(), "$" + name, StringComparison.OrdinalIgnoreCase));
        if (table is not null)
        {
            _depth++;
            // A map may contain itself.
            _mapped[name] = new([$"{Open}"], false);
            value = _mapped[name] = table.Is("map") ? Map(table) : Locate(table);
            _depth--;
            return value;
        }

        var mark = s_foreign.IsMatch(name) ? Foreign : Open;
        if (s_ofClient.IsMatch(name))
            mark = Client;
        return new([mark.ToString()], false);
    }

    private NginxValue Map(Directive map)
    {
        var source = Get(map.Arguments.Length > 1 ? map.Arguments[0] : "");
        return Choose(source, map, text => text.Contains(Client),
            // Literal keys come first.
            text => map.Block.OrderBy(static line => line.Name is ['~', ..])
                .Where(static line => line.First is not null
                    && line.Name is not ("default" or "hostnames" or "include"))
                .Select(line => (line, line.Name switch
                {
                    ['~', '*', .. var pattern] => IsPatternMatch(text, "(?i)" + pattern),
                    ['~', .. var pattern] => IsPatternMatch(text, pattern),
                    var literal => IsMatch(text, literal.TrimStart('\\')),
                })));
    }

    private NginxValue Locate(Directive geo)
    {
        var proxies = geo.Block.Where(static line => line.Is("proxy")).Select(static line => line.First ?? "");
        var source = Get(geo.Arguments.Length > 1 ? geo.Arguments[0] : "$remote_addr");
        var isFree = source.IsOfClient || Stranger.AreEverybody(proxies);
        return Choose(source, geo, _ => isFree, _ => geo.Block
            .Where(static line => line.First is not null
                && line.Name is not ("default" or "proxy" or "proxy_recursive" or "delete" or "include"))
            .Select(line => (line, isFree ? null : (bool?)Stranger.AreEverybody([line.Name]))));
    }

    /// <summary>Joins the values that a table may have for the texts of its source.</summary>
    private NginxValue Choose(NginxValue source, Directive table, Predicate<string> isOfClient,
        Func<string, IEnumerable<(Directive Line, bool? IsMatch)>> match)
    {
        var all = new HashSet<NginxValue>();
        var isChosen = source.IsChosen;
        foreach (var text in source.Texts)
        {
            var captured = text.Contains(Client) ? Client : Open;
            var found = match(text).Where(static pair => pair.IsMatch != false).ToList();
            var sure = found.FindIndex(static pair => pair.IsMatch == true);
            var lines = (sure < 0 ? found : found[..(sure + 1)]).Select(static pair => pair.Line).ToList();
            var values = lines.Select(line => Expand(line.First!, captured, [.. FindGroups(line.Name)]))
                .Concat(sure < 0 ? [Get(table.Find("default")?.First ?? "")] : []).ToHashSet();
            isChosen |= isOfClient(text) && values.Count > 1;
            all.UnionWith(values);
        }

        return new([.. all.SelectMany(static value => value.Texts)],
            all.Any(static value => value.IsChosen) || (isChosen && all.Count > 1));
    }

    private static bool? IsMatch(string text, string literal)
    {
        if (!text.Contains(Client) && !text.Contains(Open))
            return text.Equals(literal, StringComparison.OrdinalIgnoreCase);
        // No stranger knows a secret.
        if (text is [Client] && s_secret.IsMatch(literal))
            return false;
        var form = Regex.Escape(text).Replace($"{Client}", ".*").Replace($"{Open}", ".*");
        const RegexOptions Options = RegexOptions.IgnoreCase | RegexOptions.NonBacktracking;
        return Regex.IsMatch(literal, $"^{form}$", Options) ? null : false;
    }

    private static bool? IsPatternMatch(string text, string pattern)
    {
        var first = text.IndexOfAny([Client, Open]);
        if (first < 0)
            return Place.TryMatch(pattern, text);
        pattern = pattern.Replace("(?i)", "");
        if (pattern is ".*" or "^.*$" or "^")
            return true;

        // What is known at the start of the text must fit the start of the pattern, and likewise at the end.
        var start = pattern is ['^', .. var rest] ? ReadLiteral(rest) : "";
        if (start.Length is > 0 and var length && length <= first && pattern.Replace("\\", "") == "^" + start)
            return text.StartsWith(start, StringComparison.OrdinalIgnoreCase);
        var known = text[..Math.Min(first, start.Length)];
        var end = pattern is [.. var before, '$'] && !before.EndsWith('\\') ? ReadEnd(before) : "";
        var last = text[(text.LastIndexOfAny([Client, Open]) + 1)..];
        if (Regex.Replace(pattern, @"\((?:[^()\\]|\\.)*\)", "").Contains('|'))
            return null;
        var isPossible = start.StartsWith(known, StringComparison.OrdinalIgnoreCase)
            && (last.EndsWith(end, StringComparison.OrdinalIgnoreCase)
                || end.EndsWith(last, StringComparison.OrdinalIgnoreCase));
        return isPossible ? null : false;
    }

    private static string ReadLiteral(string pattern)
        => string.Concat(s_literal.Matches(pattern).Select(static match => match.Value.TrimStart('\\')));

    /// <summary>The letters at the end of a pattern, up to the first special one.</summary>
    private static string ReadEnd(string pattern) => Regex.Match(pattern, @"(?<![\\|?*+(])[\w:/-]*\z").Value;
}
