namespace FastCgi.AspNetCore.InMemoryTests.Replay;

internal sealed class HttpRequestText
{
    private readonly List<(string Name, string Value)> _headers = [];

    public HttpRequestText(string text)
    {
        var lines = text.Split("\r\n");
        var requestLine = lines[0].Split(' ');
        (Method, Target, Protocol) = (requestLine[0], requestLine[1], requestLine[2]);
        foreach (var line in lines.Skip(1).TakeWhile(static line => line.Length > 0))
        {
            var colon = line.IndexOf(':', StringComparison.Ordinal);
            _headers.Add((line[..colon], line[(colon + 1)..].Trim(' ', '\t')));
        }
    }

    public string Method { get; }

    public string Target { get; }

    public string Protocol { get; }

    public IReadOnlyList<(string Name, string Value)> Headers => _headers;

    public string? this[string name]
        => _headers.Find(header => header.Name.Equals(name, StringComparison.OrdinalIgnoreCase)).Value;
}
