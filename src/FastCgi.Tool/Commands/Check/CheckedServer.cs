namespace FastCgi.Tool.Commands.Check;

/// <summary>The server under test: requests for it, and what is known about it.</summary>
internal sealed class CheckedServer(
    FastCgiAddress address, string path, (string Name, string Value)[] more, TimeSpan timeout)
{
    public FastCgiAddress Address => address;
    public string Path => path;
    public TimeSpan Timeout => timeout;

    /// <summary>The time to wait for a record that must not arrive.</summary>
    public TimeSpan Quiet { get; } = timeout < TimeSpan.FromSeconds(1) ? timeout : TimeSpan.FromSeconds(1);

    /// <summary>The status of a plain GET.</summary>
    public int Status { get; set; }

    /// <summary>Whether the server serves one connection at a time, so that others wait.</summary>
    public bool IsSerial { get; set; }

    /// <summary>The parameters of a request, as nginx sends them.</summary>
    public IEnumerable<(string Name, string Value)> GetParameters(
        string method = "GET", int? length = null, params (string Name, string Value)[] extra)
    {
        var type = length is null ? "" : "application/octet-stream";
        var made = RequestTarget.OfThisMachine(path).CreateParameters(method, "fastcgi-check", type, $"{length}");
        return made.Select(static parameter => (parameter.Name, parameter.Value))
            .Where(pair => !more.Any(own => own.Name == pair.Name)).Concat(more)
            .Where(pair => !extra.Any(own => own.Name == pair.Name)).Concat(extra);
    }

    public byte[] Params(string method = "GET", int? length = null, params (string Name, string Value)[] extra)
        => Pairs(GetParameters(method, length, extra));

    public byte[] Get(int id = 1, bool keepsConnection = true, int size = ProtocolConstants.MaxContentLength,
        int padding = 0, params (string Name, string Value)[] extra)
        => [.. Begin(id, keepsConnection), .. Stream(RecordType.Params, id, Params(extra: extra), size, padding),
            .. Record(RecordType.Stdin, id, padding: padding)];

    public byte[] Post(int length, int? declared = null)
        => CreateRequest(Params("POST", declared ?? length), new byte[length]);

    /// <returns>The difference between a response and that of a plain GET; <see langword="null"/> if none.</returns>
    public string? FindFault(CheckResponse response)
    {
        if (response.Flaws.Length > 0)
            return string.Join(", ", response.Flaws.Distinct());
        if (!response.IsWhole)
            return response.Describe();
        return response.Status == Status ? null : $"status {response.Status}, where a plain GET returns {Status}";
    }

    /// <summary>Whether a request is served like a plain GET.</summary>
    public bool IsServed(CheckResponse response) => response.IsWhole && response.Status == Status;
}
