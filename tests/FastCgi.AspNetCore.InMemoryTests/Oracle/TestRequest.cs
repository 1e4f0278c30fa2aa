namespace FastCgi.AspNetCore.InMemoryTests.Oracle;

/// <summary>A request that is sent to two servers, in the protocol of each.</summary>
internal sealed record TestRequest(string Method = "GET", string Target = "/")
{
    /// <summary>The client's headers besides Host and those of the body.</summary>
    public IReadOnlyList<(string Name, string Value)> Headers { get; init; } = [];

    public string Host { get; init; } = "www.example.test";

    public byte[]? Body { get; init; }

    /// <summary>Whether the request declares the length of its body.</summary>
    public bool HasLength { get; init; } = true;

    /// <summary>When the client goes away.</summary>
    public Task? GoneWhen { get; init; }

    public byte[] ToHttp()
    {
        var head = new StringBuilder(
            $"{Method} {Target} HTTP/1.1\r\nHost: {Host}\r\nUser-Agent: test/1.0\r\nConnection: close\r\n");
        foreach (var (name, value) in Headers)
            head.Append(CultureInfo.InvariantCulture, $"{name}: {value}\r\n");
        if (Body is not null)
            head.Append(HasLength ? $"Content-Length: {Body.Length}\r\n" : "Transfer-Encoding: chunked\r\n");
        head.Append("\r\n");

        var sent = Body ?? [];
        var message = new List<byte>(Encoding.Latin1.GetBytes(head.ToString()));
        if (HasLength)
        {
            message.AddRange(sent);
        }
        else
        {
            message.AddRange(Encoding.ASCII.GetBytes($"{sent.Length:x}\r\n"));
            message.AddRange(sent);
            message.AddRange("\r\n0\r\n\r\n"u8);
        }

        return [.. message];
    }

    /// <summary>The request in FastCGI.</summary>
    public byte[] ToRecords()
    {
        var more = Headers.Select(static header => (ToVariable(header.Name), header.Value)).ToList();
        if (Body is not null && HasLength)
            more.Add(("CONTENT_LENGTH", Body.Length.ToString(CultureInfo.InvariantCulture)));
        else if (Body is not null)
            more.Add(("HTTP_TRANSFER_ENCODING", "chunked"));

        return
        [
            .. RecordBytes.Begin(),
            .. RecordBytes.ParamsStream(1, RecordBytes.RequestParams(Method, Target, [.. more])),
            .. RecordBytes.StdinStream(1, Body ?? []),
        ];
    }

    private static string ToVariable(string name)
    {
        var variable = name.ToUpperInvariant().Replace('-', '_');
        return variable == "CONTENT_TYPE" ? variable : "HTTP_" + variable;
    }
}

/// <summary>The response to a request.</summary>
/// <param name="Headers">The headers, except those that a server adds itself.</param>
/// <param name="IsCut">Whether the client can tell that the response is not complete.</param>
internal sealed record Outcome(int Status, IReadOnlyList<KeyValuePair<string, string>> Headers, byte[] Body, bool IsCut)
{
    public string Text => Encoding.UTF8.GetString(Body);

    public string? this[string name]
        => Headers.FirstOrDefault(header => header.Key.Equals(name, StringComparison.OrdinalIgnoreCase)).Value;
}
