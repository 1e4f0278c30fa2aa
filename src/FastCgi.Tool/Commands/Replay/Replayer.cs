using System.Diagnostics;
using System.Net.Sockets;
using FastCgi.Client;
using FastCgi.Tool.Commands.Recording;
using FastCgi.Tool.Terminal;

namespace FastCgi.Tool.Commands.Replay;

/// <summary>One run of <c>replay</c>.</summary>
internal sealed class Replayer(ToolConsole console, string file, FastCgiAddress address, ReplaySettings settings)
{
    private const int Width = 140;

    // A server may know the length, or not, by how busy it is; the body itself is compared.
    private readonly HashSet<string> _ignored = new([.. settings.IgnoredHeaders, "Date", "Content-Length"], StringComparer.OrdinalIgnoreCase);
    private readonly Stopwatch _watch = Stopwatch.StartNew();

    public async Task<int> RunAsync(CancellationToken cancellationToken)
    {
        List<RecordingLine> lines;
        try
        {
            lines = await RecordingLine.ReadAsync(file, cancellationToken);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException or FormatException)
        {
            return console.Fail(ExitCode.Usage, exception.Message, settings.IsJson);
        }

        var connections = lines.GroupBy(static line => line.C!.Value).Select(group => new ReplayedConnection(group.Key, [.. group], address, settings, _watch)).ToList();
        try
        {
            if (settings.Speed is not null)
            {
                await Task.WhenAll(connections.Select(connection => connection.RunAsync(cancellationToken)));
            }
            else
            {
                foreach (var connection in connections)
                    await connection.RunAsync(cancellationToken);
            }
        }
        catch (SocketException exception)
        {
            return console.Fail(ExitCode.CannotConnect, $"No connection to {address}: {exception.Message}", settings.IsJson);
        }
        catch (OperationCanceledException)
        {
            return console.Fail(ExitCode.Failure, "Interrupted.", settings.IsJson);
        }

        return Report(connections);
    }

    private int Report(List<ReplayedConnection> connections)
    {
        var differences = new List<ReplayDifference>();
        var (requests, compared) = (0, 0);
        foreach (var connection in connections)
        {
            if (connection.Replayed.Problem is { } problem)
                differences.Add(new ReplayDifference(connection.Number, "-", "protocol", connection.Recorded.Problem ?? "well-formed", problem));
            foreach (var (recorded, replayed) in connection.Recorded.Answers.Zip(connection.Replayed.Answers))
            {
                requests++;
                // What the web server of the recording did not wait for tells nothing.
                if (recorded.End is null)
                    continue;

                compared++;
                differences.AddRange(AnswerComparison.Compare(connection.Number, recorded, replayed, _ignored));
            }
        }

        if (settings.IsJson)
            console.WriteJson(new ReplayDocument(connections.Count, requests, compared, differences), ToolJson.Default.ReplayDocument);
        else
            Write(connections.Count, requests, compared, differences);
        return differences.Count == 0 ? ExitCode.Ok : ExitCode.Failure;
    }

    private void Write(int connections, int requests, int compared, List<ReplayDifference> differences)
    {
        if (differences.Count > 0)
        {
            var table = new TextTable("connection", "request", "differs in", "recorded", "replayed");
            foreach (var difference in differences)
                table.Add([$"{difference.Connection}", difference.Request, difference.What, difference.Recorded, difference.Replayed], console.Red);
            table.Write(console.Out, Width);
            console.Out.WriteLine();
        }

        console.Out.WriteLine($"{connections} connections, {requests} requests, {compared} answers compared, {differences.Count} differences");
    }
}

/// <summary>What <c>replay --json</c> writes.</summary>
internal sealed record ReplayDocument(int Connections, int Requests, int Compared, IReadOnlyList<ReplayDifference> Differences);
