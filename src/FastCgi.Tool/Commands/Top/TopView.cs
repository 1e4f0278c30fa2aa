using Spectre.Console;
using Spectre.Console.Rendering;

namespace FastCgi.Tool.Commands.Top;

/// <summary>Formats a status. The status page has the whole messages.</summary>
internal static class TopView
{
    public static IRenderable Create(StatusSnapshot status)
    {
        var (connections, requests, recent, resources) =
            (status.Connections, status.Requests, status.Recent, status.Resources);
        var (rejected, aborted, errors) =
            (requests.Rejected.Values.Sum(), requests.Aborted.Values.Sum(), connections.ProtocolErrors.Values.Sum());
        var lines = new List<IRenderable>
        {
            Line($"{status.Application}  {status.State}, for {Age(status.Uptime)}, process {status.ProcessId}, "
                + status.Engine, new Style(decoration: Decoration.Bold)),
            Line(string.Join(' ', status.Endpoints)),
            Text.NewLine,
            Line(Invariant($"requests     {requests.Active:N0} active, {requests.Queued:N0} queued, ")
                + Invariant($"{requests.Total:N0} total, {rejected:N0} rejected, {aborted:N0} aborted")),
            Line(Invariant($"connections  {connections.Active:N0} open, {connections.Total:N0} total, ")
                + Invariant($"{connections.Rejected + connections.Refused:N0} rejected, {errors:N0} protocol errors")),
            Line(Invariant($"rates        {recent.RequestsPerSecond:N1} requests/s, ")
                + Invariant($"{recent.ConnectionsPerSecond:N1} connections/s, ")
                + $"in {Size(recent.BytesReceivedPerSecond)}/s, out {Size(recent.BytesSentPerSecond)}/s"),
            Line($"latency      p50 {Latency(recent.P50)}, p90 {Latency(recent.P90)}, "
                + $"p99 {Latency(recent.P99)}, max {Latency(recent.Max)}"),
            Line(Invariant($"process      {Size(resources.ResidentMemory)}, {resources.Descriptors:N0} descriptors, ")
                + Invariant($"{resources.PoolThreads} pool threads, {resources.PoolWaiting} waiting for one")),
        };
        lines.AddRange(status.Limits.Where(static limit => limit.Part >= 0.8).Select(static limit
            => Line(Invariant($"limit        {limit.Name}: {limit.Used:N0} of {limit.Limit}"), Color.Yellow)));
        lines.AddRange(status.Errors.Select(static finding => Finding(finding, Color.Red)));
        lines.AddRange(status.Recommendations.Select(static finding => Finding(finding, Color.Yellow)));
        lines.Add(Text.NewLine);
        lines.Add(status.ActiveRequests.Count > 0 ? Requests(status) : Line("no active requests"));
        return new Rows(lines);
    }

    private static Table Requests(StatusSnapshot status)
    {
        var table = new Table().NoBorder();
        foreach (var heading in (string[])["AGE", "STATE", "IN", "OUT", "CLIENT", "REQUEST"])
            table.AddColumn(new TableColumn(Line(heading, new Style(decoration: Decoration.Bold)))
            {
                NoWrap = heading is "AGE" or "IN" or "OUT",
                Padding = new Padding(0, 0, 2, 0),
            });
        foreach (var request in status.ActiveRequests.OrderByDescending(static request => request.Age))
            table.AddRow([
                Line(Age(request.Age)), Line(request.State), Line(Size(request.BytesRead)),
                Line(Size(request.BytesWritten)), Line(request.Client ?? "-"),
                Line($"{request.Method} {request.Path}")]);
        return table;
    }

    private static Text Finding(JournalEntry finding, Color color)
        => Line(Invariant($"{finding.Name} ({finding.Count:N0})  {finding.Message}"), color);

    /// <summary>Text that cannot control the terminal.</summary>
    private static Text Line(string text, Style? style = null)
        => new(PlainText.Line(text), style) { Overflow = Overflow.Ellipsis };

    private static string Size(double bytes) => bytes < 1024 * 1024
        ? Invariant($"{bytes / 1024:0.0} KiB")
        : Invariant($"{bytes / 1024 / 1024:N1} MiB");

    private static string Latency(double? seconds)
        => seconds is null ? "-" : Invariant($"{seconds * 1e3:#,0.0##} ms");

    private static string Age(double seconds) => seconds < 60
        ? Invariant($"{seconds:0.0} s")
        : TimeSpan.FromSeconds(Math.Floor(seconds)).ToString("g", CultureInfo.InvariantCulture);
}
