using System.Globalization;

namespace FastCgi.Tool.Commands.Doctor;

/// <summary>A block that passes requests on, with the blocks around it, the outermost first.</summary>
internal sealed class NginxPlace(NginxDirective pass, IReadOnlyList<List<NginxDirective>> levels, string? location)
{
    public NginxDirective Pass { get; } = pass;

    /// <summary>The path of a location that is a prefix; <see langword="null"/> for others.</summary>
    public string? Location { get; } = location;

    /// <summary>The parameters that count: those of the innermost block that has any.</summary>
    public IReadOnlyList<NginxDirective> Parameters { get; } = levels.Select(static level => level.Where(static directive => directive.Name == "fastcgi_param").ToList()).LastOrDefault(static list => list.Count > 0) ?? [];

    /// <summary>The parameters of an outer block, which those of an inner one switch off.</summary>
    public NginxDirective? SwitchedOff => levels.SelectMany(static level => level).FirstOrDefault(directive => directive.Name == "fastcgi_param" && directive.First == "REQUEST_METHOD" && !Parameters.Contains(directive));

    /// <summary>What stands in the innermost block.</summary>
    public IReadOnlyList<NginxDirective> Own => levels[^1];

    /// <summary>All places that have a directive.</summary>
    public static IEnumerable<NginxPlace> Find(List<NginxDirective> root, string passName) => Find([root], passName, location: null);

    /// <summary>The directive that counts here.</summary>
    public NginxDirective? Get(string name) => levels.Select(level => level.LastOrDefault(directive => directive.Name == name)).LastOrDefault(static directive => directive is not null);

    /// <summary>All directives of a name, in this block and in those around it.</summary>
    public IEnumerable<NginxDirective> GetAll(string name) => levels.SelectMany(static level => level).Where(directive => directive.Name == name);

    /// <summary>The values that a parameter is given.</summary>
    public IReadOnlyList<string> GetParameter(string name) => [.. Parameters.Where(parameter => parameter.First == name && parameter.Arguments.Length > 1).Select(static parameter => parameter.Arguments[1])];

    /// <summary>A size in bytes, as <c>16k</c>.</summary>
    public long GetSize(string name, long usual)
    {
        var text = Get(name)?.First ?? "";
        var unit = text.Length == 0 ? '\0' : char.ToLowerInvariant(text[^1]);
        var factor = unit switch { 'k' => 1L << 10, 'm' => 1L << 20, 'g' => 1L << 30, _ => 1L };
        return long.TryParse(factor == 1 ? text : text[..^1], NumberStyles.None, CultureInfo.InvariantCulture, out var number) ? number * factor : usual;
    }

    /// <summary>A time in seconds, as <c>2m</c> or <c>1m 30s</c> in one word.</summary>
    public double GetSeconds(string name, double usual)
    {
        var text = Get(name)?.First ?? "";
        var (digits, factor) = text switch
        {
            [.. var number, 'm', 's'] => (number, 0.001),
            [.. var number, 's'] => (number, 1d),
            [.. var number, 'm'] => (number, 60d),
            [.. var number, 'h'] => (number, 3600d),
            [.. var number, 'd'] => (number, 86400d),
            _ => (text, 1d),
        };
        return double.TryParse(digits, NumberStyles.None, CultureInfo.InvariantCulture, out var value) ? value * factor : usual;
    }

    private static IEnumerable<NginxPlace> Find(List<List<NginxDirective>> levels, string passName, string? location)
    {
        foreach (var directive in levels[^1])
        {
            if (directive.Name == passName && directive.First is not null)
                yield return new NginxPlace(directive, [.. levels], location);
            if (directive.Block is not { } block || directive.Name == "upstream")
                continue;

            var inner = directive switch
            {
                { Name: "location", Arguments: [var path] } => path,
                { Name: "location", Arguments: ["^~", var path] } => path,
                { Name: "location" } => null,
                _ => location,
            };
            foreach (var place in Find([.. levels, block], passName, inner))
                yield return place;
        }
    }
}
