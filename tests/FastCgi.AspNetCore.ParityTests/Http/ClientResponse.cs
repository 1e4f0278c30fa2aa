namespace FastCgi.AspNetCore.ParityTests.Http;

internal sealed partial record ClientResponse(
    int Status, string Reason, IReadOnlyList<(string Name, string Value)> Headers)
{
    /// <summary>The connection ended without an answer.</summary>
    public static ClientResponse None { get; } = new(0, "no response", []);

    /// <summary>The preceding 1xx statuses, usually 100.</summary>
    public IReadOnlyList<int> Informational { get; init; } = [];

    /// <summary>The body, without chunk framing.</summary>
    public byte[] Body { get; init; } = [];

    /// <summary>Whether the connection ended before the body did.</summary>
    public bool IsCut { get; init; }

    public string Text => Encoding.UTF8.GetString(Body);

    public bool ClosesConnection
        => GetValues("Connection").Any(value => value.Contains("close", StringComparison.OrdinalIgnoreCase));

    public bool IsChunked
        => GetValues("Transfer-Encoding").Any(value => value.Contains("chunked", StringComparison.OrdinalIgnoreCase));

    public long? ContentLength
        => GetValues("Content-Length")
            .Select(value => (long?)long.Parse(value, CultureInfo.InvariantCulture))
            .FirstOrDefault();

    public string GetHiddenField(string name)
        => HiddenFields().Matches(Text).Last(field => field.Groups["name"].Value == name).Groups["value"].Value;

    public IEnumerable<string> GetValues(string name)
        => Headers.Where(header => header.Name.Equals(name, StringComparison.OrdinalIgnoreCase))
            .Select(header => header.Value);

    [GeneratedRegex(
        """<input (?:type="hidden" name="(?<name>[^"]*)"|name="(?<name>[^"]*)" type="hidden") """
            + """value="(?<value>[^"]*)" ?/?>""")]
    private static partial Regex HiddenFields();
}
