namespace FastCgi.Tool.Commands.Doctor;

/// <summary>A directive, section, or value of any configuration, with its block.</summary>
internal sealed class Directive(string name, string[] arguments, string file, int line, Directive? parent)
{
    public string Name => name;
    public string[] Arguments => arguments;
    public Directive? Parent => parent;
    public List<Directive> Block { get; } = [];
    public int Line => line;
    public string File => file;
    public string Where => $"{file}:{line}";

    /// <summary>Whether the directive includes a file or a macro that was not read.</summary>
    public bool IsUnread { get; set; }

    public string? First => arguments.FirstOrDefault();
    public string Text => string.Join(' ', arguments.Prepend(name));

    /// <summary>The blocks that contain the directive, the innermost first.</summary>
    public IEnumerable<Directive> Around => parent is null ? [] : parent.Around.Prepend(parent);

    /// <summary>All directives in the block, at any depth, in order.</summary>
    public IEnumerable<Directive> All => Block.SelectMany(static inner => inner.All.Prepend(inner));

    public bool Is(params string[] words)
        => words[0].Equals(name, StringComparison.OrdinalIgnoreCase) && arguments.Length >= words.Length - 1
            && words.Skip(1).SequenceEqual(arguments.Take(words.Length - 1), StringComparer.OrdinalIgnoreCase);

    public bool IsAny(params string[] names) => names.Contains(name, StringComparer.OrdinalIgnoreCase);

    /// <summary>The last directive in the block that starts with these words.</summary>
    public Directive? Find(params string[] words) => Block.FindLast(inner => inner.Is(words));

    /// <summary>The directive in effect: that of the innermost block with it.</summary>
    public Directive? Get(params string[] words)
        => Around.Select(block => block.Find(words)).FirstOrDefault(static found => found is not null);

    /// <summary>The directives in effect: those of the innermost block that has any.</summary>
    public IReadOnlyList<Directive> GetInnermost(params string[] names)
        => Around.Select(block => block.Block.FindAll(inner => inner.IsAny(names)))
            .FirstOrDefault(static list => list.Count > 0) ?? [];

    public IEnumerable<Directive> GetAll(string name)
        => Around.Reverse().SelectMany(static block => block.Block).Where(inner => inner.Is(name));

    public Directive? FindAround(string name) => Around.FirstOrDefault(block => block.Is(name));
}

/// <summary>Lines as evidence of a rule, by default with their own texts.</summary>
internal static class LineEvidence
{
    public static IEnumerable<Seen> See(this Directive? line, string? text = null)
        => line is null ? [] : [new(line.Where, text ?? line.Text)];

    public static IEnumerable<Seen> See(this Directive? line, Func<Directive, string> describe)
        => line is null ? [] : line.See(describe(line));

    public static IEnumerable<Seen> See(this IEnumerable<Directive> lines, Func<Directive, string>? describe = null)
        => lines.SelectMany(line => line.See(describe?.Invoke(line)));
}
