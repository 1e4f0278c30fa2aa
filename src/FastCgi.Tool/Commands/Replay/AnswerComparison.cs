using System.Text;
using FastCgi.Client;
using FastCgi.Client.Cgi;
using FastCgi.Tool.Terminal;

namespace FastCgi.Tool.Commands.Replay;

/// <summary>What differs between two answers to one request.</summary>
internal static class AnswerComparison
{
    private const string Nothing = "(none)";
    private const int Shown = 60;

    public static IEnumerable<ReplayDifference> Compare(int connection, RecordedAnswer recorded, RecordedAnswer replayed, IReadOnlySet<string> ignoredHeaders)
    {
        var name = recorded.Name;
        ReplayDifference Difference(string what, string before, string after) => new(connection, name, what, before, after);

        if (recorded.End != replayed.End)
            yield return Difference("end", ShowEnd(recorded.End), ShowEnd(replayed.End));

        var before = Split(recorded.Output.WrittenSpan.ToArray());
        var after = Split(replayed.Output.WrittenSpan.ToArray());
        if (before.Status != after.Status)
            yield return Difference("status", before.Status, after.Status);
        foreach (var header in before.Headers.Concat(after.Headers).Select(static header => header.Name).Distinct(StringComparer.OrdinalIgnoreCase).Where(header => !ignoredHeaders.Contains(header)))
        {
            var (old, @new) = (Find(before.Headers, header), Find(after.Headers, header));
            if (old != @new)
                yield return Difference($"header {header}", ShowHeader(header, old), ShowHeader(header, @new));
        }

        if (!before.Body.SequenceEqual(after.Body))
            yield return Difference("body", ShowBody(before.Body, after.Body), ShowBody(after.Body, before.Body));
        var (oldError, newError) = (Encoding.UTF8.GetString(recorded.StandardError.WrittenSpan), Encoding.UTF8.GetString(replayed.StandardError.WrittenSpan));
        if (oldError != newError)
            yield return Difference("standard error", Cut(oldError), Cut(newError));
    }

    private static (string Status, List<(string Name, string Value)> Headers, byte[] Body) Split(byte[] output)
    {
        var from = 0;
        var end = HeaderBlock.FindEnd(output, ref from);
        if (end < 0)
            return (Nothing, [], output);

        try
        {
            var head = HeaderBlock.Parse(output.AsSpan(0, end));
            return ($"{head.StatusCode} {head.ReasonPhrase}".TrimEnd(), [.. head.Headers.Select(static header => (header.Key, header.Value))], output[end..]);
        }
        catch (FastCgiProtocolException exception)
        {
            return (exception.Message, [], output[end..]);
        }
    }

    private static string Find(List<(string Name, string Value)> headers, string name)
    {
        var values = headers.Where(header => header.Name.Equals(name, StringComparison.OrdinalIgnoreCase)).Select(static header => header.Value).ToList();
        return values.Count == 0 ? Nothing : string.Join(", ", values);
    }

    private static string ShowHeader(string name, string value) => value == Nothing ? value : Secrets.Show(name, Cut(value), showsSecrets: false);

    private static string ShowEnd((int AppStatus, int ProtocolStatus)? end)
        => end is { } known ? $"appStatus {known.AppStatus}, {(FastCgiProtocolStatus)known.ProtocolStatus}" : "did not end";

    private static string ShowBody(byte[] body, byte[] other)
    {
        var same = body.AsSpan().CommonPrefixLength(other);
        return $"{body.Length} bytes, from {same}: {Cut(Encoding.Latin1.GetString(body.AsSpan(same, Math.Min(body.Length - same, Shown))))}";
    }

    private static string Cut(string text)
    {
        var shown = PlainText.Line(text[..Math.Min(text.Length, Shown)]);
        return text.Length > Shown ? shown + "…" : shown.Length == 0 ? Nothing : shown;
    }
}

/// <summary>A difference.</summary>
internal sealed record ReplayDifference(int Connection, string Request, string What, string Recorded, string Replayed);
