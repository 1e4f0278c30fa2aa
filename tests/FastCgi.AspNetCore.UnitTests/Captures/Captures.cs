using System.Globalization;
using System.Text;
using System.Text.Json;
using System.Text.RegularExpressions;

namespace FastCgi.AspNetCore.UnitTests.Captures;

/// <summary>
/// What real front-ends sent for real HTTP requests: the files in <c>Captures</c> beside the test assembly. Source that test
/// projects share; see <c>Captures/README.md</c>.
/// </summary>
public static partial class CaptureLibrary
{
    private const string BodyLine = " abcdefghijklmnopqrstuvwxyz0123456789 body line\n";

    private static readonly JsonSerializerOptions s_json = new() { PropertyNamingPolicy = JsonNamingPolicy.CamelCase };
    private static readonly string s_folder = Path.Combine(AppContext.BaseDirectory, "Captures");

    /// <summary>All captures, in the order of their front-ends and files.</summary>
    public static IReadOnlyList<Capture> All { get; } = [.. FrontEnds.SelectMany(Load)];

    public static IReadOnlyList<string> FrontEnds => ["nginx", "apache", "fcgid", "lighttpd", "haproxy", "cgi-fcgi"];

    /// <summary>One capture.</summary>
    /// <param name="name">Front-end and file without its extension, such as <c>nginx/tcp__get-root</c>.</param>
    public static Capture Get(string name) => All.Single(capture => capture.Name == name);

    /// <summary>
    /// Writes out what the index has shortened: <c>{3*x}</c> for a repeated character, <c>{lines:100}</c> for so many bytes of
    /// numbered lines.
    /// </summary>
    internal static string Expand(string text) => Shortened().Replace(text, static match =>
    {
        var count = int.Parse(match.Groups["count"].ValueSpan, CultureInfo.InvariantCulture);
        return match.Groups["text"] is { Success: true } repeated ? new string(repeated.Value[0], count) : NumberedLines(count);
    });

    private static IEnumerable<Capture> Load(string frontEnd)
    {
        var folder = Path.Combine(s_folder, frontEnd);
        using var index = File.OpenRead(Path.Combine(folder, "index.json"));
        foreach (var capture in JsonSerializer.Deserialize<CaptureIndex>(index, s_json)!.Captures)
        {
            var requests = capture.Requests.Select(static request => request.Expand());
            yield return new Capture(frontEnd, Path.Combine(folder, capture.File), capture.Tls, [.. requests]);
        }
    }

    private static string NumberedLines(int length)
    {
        var lines = new StringBuilder();
        for (var number = 0; lines.Length < length; number++)
            lines.Append(CultureInfo.InvariantCulture, $"{number:D7}").Append(BodyLine);
        return lines.ToString(0, length);
    }

    [GeneratedRegex(@"\{(?<count>\d+)\*(?<text>.)\}|\{lines:(?<count>\d+)\}", RegexOptions.Singleline)]
    private static partial Regex Shortened();

    private sealed record CaptureIndex(string FrontEnd, CaptureEntry[] Captures);

    private sealed record CaptureEntry(string File, bool Tls, CapturedRequest[] Requests);
}

/// <summary>What a front-end sent on one connection.</summary>
/// <param name="IsTls">Whether the client talked TLS to the front-end.</param>
public sealed record Capture(string FrontEnd, string Path, bool IsTls, IReadOnlyList<CapturedRequest> Requests)
{
    public string Name => $"{FrontEnd}/{System.IO.Path.GetFileNameWithoutExtension(Path)}";

    /// <summary>The configuration of the front-end: the first part of the file's name.</summary>
    public string Mode => System.IO.Path.GetFileName(Path).Split("__")[0];

    /// <summary>The bytes of the connection, front-end to application.</summary>
    public byte[] ReadBytes() => File.ReadAllBytes(Path);

    public override string ToString() => Name;
}

/// <summary>A request of a captured connection.</summary>
/// <param name="Http">
/// Request line and headers as the client sent them, each character a byte; <see langword="null"/> where the params were not
/// captured whole, or the role is not Responder.
/// </param>
/// <param name="Body">The body as the client sent it, without the chunks' framing.</param>
/// <param name="Incomplete">Whether the end of STDIN was not captured, or never came.</param>
/// <param name="Subrequest">Whether it is nginx's auth_request, which is sent without the body.</param>
/// <param name="HeadersUnknown">Whether <paramref name="Http"/> is but the request line.</param>
public sealed record CapturedRequest(
    int Id, string? Http = null, string Body = "", bool Incomplete = false, bool Subrequest = false, bool HeadersUnknown = false)
{
    /// <summary>The same request with nothing shortened.</summary>
    internal CapturedRequest Expand()
        => this with { Http = Http is null ? null : CaptureLibrary.Expand(Http), Body = CaptureLibrary.Expand(Body ?? "") };
}
