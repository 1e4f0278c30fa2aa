using System.IO.Compression;
using System.Text.Json;
using System.Text.RegularExpressions;

namespace FastCgi.AspNetCore.InMemoryTests.Replay;

/// <summary>
/// What real web servers sent for real HTTP requests: the files of <c>Captures.zip</c>. See <c>README.md</c>.
/// </summary>
public static partial class CaptureLibrary
{
    private const string BodyLine = " abcdefghijklmnopqrstuvwxyz0123456789 body line\n";

    private static readonly JsonSerializerOptions s_json = new() { PropertyNamingPolicy = JsonNamingPolicy.CamelCase };

    /// <summary>Gets all captures, in the order of their web servers and files.</summary>
    public static IReadOnlyList<Capture> All { get; } = LoadAll();

    public static IReadOnlyList<string> FrontEnds => ["nginx", "apache", "fcgid", "lighttpd", "haproxy", "cgi-fcgi"];

    /// <summary>Finds a capture.</summary>
    /// <param name="name">
    /// The web server and the file without its extension, such as <c>nginx/tcp__get-root</c>.
    /// </param>
    public static Capture Get(string name) => All.Single(capture => capture.Name == name);

    /// <summary>
    /// Expands the index's short forms: <c>{3*x}</c> repeats a character, and <c>{lines:100}</c> is 100 bytes of
    /// numbered lines.
    /// </summary>
    internal static string Expand(string text) => Shortened().Replace(text, static match =>
    {
        var count = int.Parse(match.Groups["count"].ValueSpan, CultureInfo.InvariantCulture);
        return match.Groups["text"] is { Success: true } repeated
            ? new string(repeated.Value[0], count)
            : NumberedLines(count);
    });

    private static List<Capture> LoadAll()
    {
        using var archive = ZipFile.OpenRead(Path.Combine(AppContext.BaseDirectory, "Captures.zip"));
        return [.. FrontEnds.SelectMany(frontEnd => Load(archive, frontEnd))];
    }

    private static IEnumerable<Capture> Load(ZipArchive archive, string frontEnd)
    {
        var index = JsonSerializer.Deserialize<CaptureIndex>(ReadEntry(archive, $"{frontEnd}/index.json"), s_json)!;
        foreach (var capture in index.Captures)
        {
            var requests = capture.Requests.Select(static request => request.Expand());
            var bytes = ReadEntry(archive, $"{frontEnd}/{capture.File}");
            yield return new Capture(
                frontEnd, Path.GetFileNameWithoutExtension(capture.File), capture.Tls, [.. requests], bytes);
        }
    }

    private static byte[] ReadEntry(ZipArchive archive, string name)
    {
        var entry = archive.GetEntry(name) ?? throw new FileNotFoundException(name);
        var bytes = new byte[entry.Length];
        using var content = entry.Open();
        content.ReadExactly(bytes);
        return bytes;
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

/// <summary>What a web server sent on one connection.</summary>
/// <param name="File">The file's name without its extension.</param>
/// <param name="IsTls">Whether the client used TLS.</param>
/// <param name="Bytes">The bytes of the connection, from the web server to the application.</param>
public sealed record Capture(
    string FrontEnd, string File, bool IsTls, IReadOnlyList<CapturedRequest> Requests, byte[] Bytes)
{
    public string Name => $"{FrontEnd}/{File}";

    /// <summary>Gets the configuration of the web server: the first part of the file's name.</summary>
    public string Mode => File.Split("__")[0];

    public override string ToString() => Name;
}

/// <summary>A request of a captured connection.</summary>
/// <param name="Http">
/// Request line and headers as the client sent them, one byte per character; <see langword="null"/> if the params are
/// incomplete or the role is not Responder.
/// </param>
/// <param name="Body">The body as the client sent it, without chunk framing.</param>
/// <param name="Incomplete">Whether the capture lacks the end of STDIN.</param>
/// <param name="Subrequest">Whether it is nginx's auth_request, which has no body.</param>
/// <param name="HeadersUnknown">Whether <paramref name="Http"/> is only the request line.</param>
public sealed record CapturedRequest(
    int Id,
    string? Http = null,
    string Body = "",
    bool Incomplete = false,
    bool Subrequest = false,
    bool HeadersUnknown = false)
{
    /// <summary>Expands the short forms.</summary>
    internal CapturedRequest Expand()
        => this with
        {
            Http = Http is null ? null : CaptureLibrary.Expand(Http),
            Body = CaptureLibrary.Expand(Body ?? ""),
        };
}
