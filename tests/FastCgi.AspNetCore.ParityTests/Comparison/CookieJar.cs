namespace FastCgi.AspNetCore.ParityTests.Comparison;

/// <summary>The cookies that a browser would send back, whatever the path.</summary>
internal sealed class CookieJar
{
    private readonly Dictionary<string, string> _cookies = new(StringComparer.Ordinal);

    public string? Header
        => _cookies.Count == 0 ? null : string.Join("; ", _cookies.Select(cookie => $"{cookie.Key}={cookie.Value}"));

    public void Store(ClientResponse response)
    {
        foreach (var header in response.GetValues("Set-Cookie"))
        {
            var pair = header.Split(';')[0].Split('=', 2);
            if (pair[1].Length == 0)
                _cookies.Remove(pair[0]);
            else
                _cookies[pair[0]] = pair[1];
        }
    }
}
