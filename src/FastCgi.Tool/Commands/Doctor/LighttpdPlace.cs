namespace FastCgi.Tool.Commands.Doctor;

/// <summary>A backend of lighttpd's <c>fastcgi.server</c>, <c>scgi.server</c> or <c>proxy.server</c>.</summary>
internal sealed class LighttpdPlace(Directive pass, string path, Directive backend, Directive root) : Place(pass)
{
    private static readonly string[] s_passes = ["fastcgi.server", "scgi.server", "proxy.server"];

    public override string Path => path;
    public override bool IsFastCgi => Pass.Is("fastcgi.server");
    public override bool UsesOtherProtocol => Pass.Is("scgi.server");
    public override bool IsWhole => !root.All.Any(static line => line.IsUnread);
    public override string Description => $"{path} to {Target}";
    public override IEnumerable<string> Targets => [Target];

    /// <summary>The limit of a request body, which is written in kilobytes; 0 for none.</summary>
    public long BodyLimit => (long)(Parse(Pass.Get("server.max-request-size")?.First) * 1024);

    public double ReadTimeout => Parse(this["read-timeout"]);

    /// <summary>Whether a script may check the names of headers.</summary>
    private bool HasScript => root.All.Any(static line => line.Name.StartsWith("magnet.", StringComparison.Ordinal));

    /// <summary>Whether only files with an extension are passed, as for PHP.</summary>
    public bool IsExtension => path[0] != '/';

    /// <summary>Whether lighttpd accepts connections only of this machine.</summary>
    public bool IsLocal => Visible("server.bind").Any() && root.All.All(static line
        => !(line.Is("server.bind") || line.Name.StartsWith("$SERVER[\"socket\"] ==", StringComparison.Ordinal))
            || Stranger.IsLocal(line.First ?? line.Name.Split(' ')[^1]));

    public override string FastCgiLines
        => $"fastcgi.server = (\"{path}\" => (({Address}, \"check-local\" => \"disable\")))";

    /// <summary>Headers that lighttpd sets, unless a script checks the names that clients send.</summary>
    public IEnumerable<Directive> SetHeaders => !IsWhole || HasScript ? [] :
        Visible("setenv.set-request-header", "setenv.add-request-header")
            .SelectMany(static list => list.Block).Where(static item => !item.Is("Host"));

    private string Address => this["socket"] is { } socket
        ? $"\"socket\" => \"{socket}\""
        : $"\"host\" => \"{Host}\", \"port\" => {this["port"]}";

    private string Host => this["host"] ?? "127.0.0.1";
    private string Target => this["socket"] switch
    {
        ['@', ..] socket => "unix:" + socket,
        { } socket => socket,
        _ => $"{Host}:{this["port"]}",
    };

    public string? this[string key] => backend.Find(key)?.First;

    public static IEnumerable<Place> Find(DoctorReport report, string file, string text)
    {
        var root = new LighttpdReader(report, file).Read(text);
        return from pass in root.All
               let kind = Array.IndexOf(s_passes, pass.Name)
               where kind >= 0
               orderby kind
               from prefix in pass.Block
               from backend in prefix.Block
               where backend.Find("mode", "authorizer") is null
               select new LighttpdPlace(pass, prefix.Name.Length > 0 ? prefix.Name : "/", backend, root);
    }

    /// <summary>Finds the line, or its absence, that holds the response until it is complete.</summary>
    public IEnumerable<Seen> FindHeldResponse()
    {
        const string Default = "server.stream-response-body is 0, the default";
        if (IsExtension || Visible("server.stream-response-body").Any(static line => line.First != "0"))
            return [];
        var line = Pass.Get("server.stream-response-body");
        return line is null ? See(IsWhole, Default) : line.See(Default);
    }

    /// <summary>The lines with these names, name by name.</summary>
    public IEnumerable<Directive> Visible(params string[] names)
        => names.SelectMany(name => root.All.Where(line => line.Is(name)));

    private static double Parse(string? text)
        => double.TryParse(text, CultureInfo.InvariantCulture, out var number) ? number : 0;
}
