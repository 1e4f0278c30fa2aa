using System.Security.Cryptography;

namespace FastCgi.AspNetCore.ParityTests.Comparison;

internal sealed record Exchange(
    ClientRequest Request, ClientResponse Response, SeenRequest? Seen, int ClientPort, int SitePort)
{
    private static readonly UTF8Encoding s_strictUtf8 = new(
        encoderShouldEmitUTF8Identifier: false, throwOnInvalidBytes: true);

    /// <summary>The client's observations, as named values.</summary>
    public IReadOnlyDictionary<string, string> DescribeResponse()
    {
        var values = new SortedDictionary<string, string>(StringComparer.Ordinal)
        {
            ["status"] = $"{Response.Status} {Response.Reason}",
            ["informational statuses"] = string.Join(' ', Response.Informational),
            ["body"] = Mask(DescribeBody()),
            ["body is cut"] = $"{Response.IsCut}",
        };
        foreach (var header in Response.Headers.ToLookup(
            header => header.Name, header => header.Value, StringComparer.OrdinalIgnoreCase))
            values[$"header {header.Key}"] = Mask(string.Join(" | ", header));
        return values;
    }

    /// <summary>The application's observations and actions, as named values.</summary>
    public IReadOnlyDictionary<string, string> DescribeSeen()
    {
        var values = new SortedDictionary<string, string>(StringComparer.Ordinal)
        {
            ["reached"] = $"{Seen is not null}",
        };
        if (Seen is null)
            return values;

        values["aborted"] = $"{Seen.Aborted.IsCompleted}";
        values["events"] = Mask(string.Join('\n', Seen.Events));
        foreach (var (number, line) in Seen.Log.Index())
            values[$"log {number:D2}"] = Mask(line);
        foreach (var (name, value) in Seen.AtStart)
            values[$"start {name}"] = Mask(MaskPort(name, value));
        foreach (var (name, value) in Seen.AtEnd)
            values[$"end {name}"] = Mask(MaskPort(name, value));
        return values;
    }

    private string DescribeBody()
    {
        try
        {
            return s_strictUtf8.GetString(Response.Body);
        }
        catch (DecoderFallbackException)
        {
            return $"{Response.Body.Length} bytes, SHA-256 {Convert.ToHexString(SHA256.HashData(Response.Body))}";
        }
    }

    private string Mask(string value)
    {
        value = value.Replace($"127.0.0.1:{SitePort}", "{site}");
        return Masks.Apply(Seen is null ? value : value
            .Replace(Seen.TraceIdentifier, "{trace}")
            .Replace(Seen.ConnectionId, "{connection}"));
    }

    private string MaskPort(string name, string value)
    {
        if (name.EndsWith("RemotePort", StringComparison.Ordinal) && value == $"{ClientPort}")
            return "{port of the client}";
        return name.EndsWith("LocalPort", StringComparison.Ordinal) && value == $"{SitePort}"
            ? "{port of the site}"
            : value;
    }
}
