namespace FastCgi.Tool.Commands.Top;

/// <summary>Formats a status as lines that fit the terminal.</summary>
internal sealed class TopPicture(StatusSnapshot status, TopRates rates, TopOrder order, ToolConsole console, int width)
{
    // The status page has the whole messages. Together, they take at most half of the terminal.
    private const int MaxFindingLines = 6;
    private const int MinFindingLines = 2;

    // In a narrower terminal, the columns for bytes are omitted, so that the path fits.
    private const int WidthOfAllColumns = 100;
    private const int WidthOfLongClients = 120;
    private const int MaxState = 20;
    private const int MaxClient = 15;

    private readonly List<string> _lines = [];

    public IReadOnlyList<string> Draw(int height)
    {
        WriteTotals();
        WriteFindings(height);
        WriteRequests();
        // The last line is for the cursor.
        var room = Math.Max(height - 1, 1);
        return _lines.Count <= room
            ? _lines
            : [.. _lines.Take(room - 1), Cut($"… {_lines.Count - room + 1} more lines", width)];
    }

    private static string Size(double bytes) => bytes switch
    {
        < 1024 => Invariant($"{bytes:0} B"),
        < 1024 * 1024 => Invariant($"{bytes / 1024:0.0} KiB"),
        < 1024d * 1024 * 1024 => Invariant($"{bytes / 1024 / 1024:0.0} MiB"),
        _ => Invariant($"{bytes / 1024 / 1024 / 1024:0.0} GiB"),
    };

    private static string Rate(double rate) => rate < 100 ? Invariant($"{rate:0.0}") : Invariant($"{rate:N0}");

    private static string Latency(double? seconds) => seconds switch
    {
        null => "-",
        > 0 and < 0.001 => Invariant($"{seconds * 1e6:0} µs"),
        < 1 => Invariant($"{seconds * 1e3:0.0} ms"),
        _ => Age(seconds.Value),
    };

    private static string Age(double seconds) => seconds switch
    {
        < 60 => Invariant($"{seconds:0.0} s"),
        < 3600 => Invariant($"{seconds / 60:0} min"),
        < 172_800 => Invariant($"{seconds / 3600:0.0} h"),
        _ => Invariant($"{seconds / 86_400:0.0} d"),
    };

    private void WriteTotals()
    {
        var (connections, requests, recent, resources) =
            (status.Connections, status.Requests, status.Recent, status.Resources);
        var (rejected, aborted, errors) =
            (requests.Rejected.Values.Sum(), requests.Aborted.Values.Sum(), connections.ProtocolErrors.Values.Sum());
        var refused = connections.Rejected + connections.Refused;
        var descriptors = resources.Descriptors?.ToString("N0", CultureInfo.InvariantCulture) ?? "?";
        var pool = $"{resources.PoolThreads} pool threads, {resources.PoolWaiting} waiting for one";
        var state = $"{status.State}, for {Age(status.Uptime)}, process {status.ProcessId}, {status.Engine}";
        Add($"{status.Application}  {state}", console.Bold, status.Application.Length);
        Add(string.Join(' ', status.Endpoints));
        Add("");
        Add(Invariant(
            $"requests     {requests.Active:N0} active, {requests.Queued:N0} queued, {requests.Total:N0} total, ")
            + Invariant($"{rejected:N0} rejected, {aborted:N0} aborted"));
        Add(Invariant($"connections  {connections.Active:N0} open, {connections.Total:N0} total, ")
            + Invariant($"{refused:N0} rejected, {errors:N0} protocol errors"));
        Add($"rates        {Rate(rates.Requests)} requests/s, {Rate(rates.Connections)} connections/s, "
            + $"in {Size(rates.BytesReceived)}/s, out {Size(rates.BytesSent)}/s");
        Add($"latency      p50 {Latency(recent.P50)}, p90 {Latency(recent.P90)}, "
            + $"p99 {Latency(recent.P99)}, max {Latency(recent.Max)}");
        Add($"process      {Size(resources.ResidentMemory)}, {descriptors} descriptors, {pool}");
        foreach (var limit in status.Limits.Where(static limit => limit.Part >= 0.8))
            Add(Invariant($"limit        {limit.Name}: {limit.Used:N0} of {limit.Limit}"), console.Yellow);
    }

    private void WriteFindings(int height)
    {
        var findings = status.Errors.Select(finding => (finding, (Func<string, string>)console.Red))
            .Concat(status.Recommendations.Select(finding => (finding, (Func<string, string>)console.Yellow))).ToList();
        if (findings.Count > 0)
            Add("");
        foreach (var (finding, color) in findings)
        {
            var maxLines = Math.Clamp(height / 2 / findings.Count, MinFindingLines, MaxFindingLines);
            var head = Invariant($"{finding.Name} ({finding.Count:N0})");
            var lines = PlainText.Wrap(PlainText.Line($"{head}  {finding.Message}"), width).Take(maxLines + 1).ToList();
            for (var i = 0; i < Math.Min(lines.Count, maxLines); i++)
            {
                var isCut = i == maxLines - 1 && lines.Count > maxLines;
                Add(isCut ? lines[i] + " …" : lines[i], color, i == 0 ? head.Length : 0);
            }
        }
    }

    private void WriteRequests()
    {
        Add("");
        if (status.ActiveRequests.Count == 0)
        {
            Add("no active requests");
            return;
        }

        var rows = Sort().Select(static request => new[]
        {
            Age(request.Age), request.State, Size(request.BytesRead), Size(request.BytesWritten), request.Client ?? "-",
            PlainText.Line($"{request.Method} {request.Path}"),
        }).Prepend(["AGE", "STATE", "IN", "OUT", "CLIENT", "REQUEST"]).ToList();
        bool[] isRight = [true, false, true, true, false, false];
        var maxState = width < int.MaxValue ? MaxState : width;
        int[] most = [8, maxState, 9, 9, width >= WidthOfLongClients ? width : MaxClient, width];
        int[] shown = width >= WidthOfAllColumns ? [0, 1, 2, 3, 4, 5] : [0, 1, 4, 5];
        var widths = most.Select((limit, i) => Math.Min(limit, rows.Max(row => row[i].Length))).ToArray();
        foreach (var row in rows)
        {
            var cells = shown.Select(i => isRight[i]
                ? row[i].PadLeft(widths[i])
                : Cut(row[i], widths[i]).PadRight(widths[i]));
            Add(string.Join("  ", cells).TrimEnd(), ReferenceEquals(row, rows[0]) ? console.Bold : null);
        }
    }

    private IEnumerable<RequestStatus> Sort() => order switch
    {
        TopOrder.In => status.ActiveRequests.OrderByDescending(static request => request.BytesRead),
        TopOrder.Out => status.ActiveRequests.OrderByDescending(static request => request.BytesWritten),
        TopOrder.State => status.ActiveRequests.OrderBy(static request => request.State, StringComparer.Ordinal),
        TopOrder.Client => status.ActiveRequests.OrderBy(static request => request.Client, StringComparer.Ordinal),
        TopOrder.Path => status.ActiveRequests.OrderBy(static request => request.Path, StringComparer.Ordinal),
        _ => status.ActiveRequests.OrderByDescending(static request => request.Age),
    };

    private static string Cut(string text, int length)
        => text.Length <= length ? text : text[..Math.Max(length - 1, 1)] + "…";

    private void Add(string text, Func<string, string>? color = null, int colored = int.MaxValue)
    {
        var line = Cut(PlainText.Line(text), width);
        var end = Math.Min(colored, line.Length);
        _lines.Add(color is null || end == 0 ? line.TrimEnd() : color(line[..end]) + line[end..].TrimEnd());
    }
}
