using System.Text.Json;
using FastCgi.Tool.Terminal;

namespace FastCgi.Tool.Commands.Recording;

/// <summary>
/// A line of a recording, which is JSON. The first line has only the format and when it began. Of the others, each is of one connection, and
/// has either bytes that came, or what happened.
/// </summary>
/// <param name="Format">Of the first line: <see cref="CurrentFormat"/>.</param>
/// <param name="Started">Of the first line: when the recording began.</param>
/// <param name="T">Seconds since then.</param>
/// <param name="C">The number of the connection, from 1.</param>
/// <param name="From">Who sent, or closed: <c>web</c> or <c>app</c>.</param>
/// <param name="Bytes">What came in one receive.</param>
/// <param name="Event"><c>open</c>, <c>refused</c>, <c>end</c> (nothing more comes from there) or <c>reset</c>.</param>
internal sealed record RecordingLine(string? Format = null, DateTimeOffset? Started = null, double? T = null, int? C = null, string? From = null, byte[]? Bytes = null, string? Event = null)
{
    public const string CurrentFormat = "fastcgi-recording/1";
    public const double LongestTime = 1e9;
    public const string Web = "web";
    public const string Application = "app";
    public const string Open = "open";
    public const string Refused = "refused";
    public const string End = "end";
    public const string Reset = "reset";

    /// <summary>Reads a file.</summary>
    /// <exception cref="FormatException">It is not a recording, or a line of it is broken.</exception>
    public static async Task<List<RecordingLine>> ReadAsync(string file, CancellationToken cancellationToken)
    {
        var lines = new List<RecordingLine>();
        var number = 0;
        await foreach (var text in File.ReadLinesAsync(file, cancellationToken))
        {
            number++;
            var line = Parse(text) ?? throw new FormatException($"Line {number} of {file} is not one of a recording.");
            if (number == 1 && line.Format != CurrentFormat)
                throw new FormatException($"{file} is not a recording: its first line does not say {CurrentFormat}.");
            if (number > 1 && (line.C is null || line.T is < 0 or > LongestTime || (line.Bytes is null && line.Event is null)))
                throw new FormatException($"Line {number} of {file} is not one of a recording.");
            if (number > 1)
                lines.Add(line);
        }

        return number > 0 ? lines : throw new FormatException($"{file} is empty.");
    }

    private static RecordingLine? Parse(string text)
    {
        try
        {
            return JsonSerializer.Deserialize(text, ToolJson.Default.RecordingLine);
        }
        catch (JsonException)
        {
            return null;
        }
    }
}
