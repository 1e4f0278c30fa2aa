using System.Globalization;
using FastCgi.AspNetCore.Status;
using FastCgi.Tool.Terminal;

namespace FastCgi.Tool.Commands.Top;

/// <summary>A status as lines that fit the terminal.</summary>
internal sealed class TopPicture(StatusSnapshot status, ToolConsole console)
{
    private readonly List<string> _lines = [];

    /// <param name="height">How many lines there is room for.</param>
    public void Write(int height)
    {
        WriteTotals();
        WriteFindings();
        WriteRequests();
        foreach (var line in _lines.Take(Math.Max(height - 1, 1)))
            console.Out.WriteLine(line);
    }

    private static string Size(double bytes) => bytes switch
    {
        < 1024 => Number($"{bytes:0} B"),
        < 1024 * 1024 => Number($"{bytes / 1024:0.0} KB"),
        < 1024d * 1024 * 1024 => Number($"{bytes / 1024 / 1024:0.0} MB"),
        _ => Number($"{bytes / 1024 / 1024 / 1024:0.0} GB"),
    };

    private static string Latency(double? seconds) => seconds is { } value ? Number($"{value * 1000:0.0} ms") : "-";

    private static string Age(double seconds) => seconds switch
    {
        < 60 => Number($"{seconds:0.0} s"),
        < 3600 => Number($"{seconds / 60:0} min"),
        _ => Number($"{seconds / 3600:0.0} h"),
    };

    private static string Number(FormattableString text) => text.ToString(CultureInfo.InvariantCulture);

    private void WriteTotals()
    {
        var (connections, requests, recent, resources) = (status.Connections, status.Requests, status.Recent, status.Resources);
        Add($"{status.Application}  {status.State}, for {Age(status.Uptime)}, process {status.ProcessId}, {status.Engine}");
        Add($"{string.Join(' ', status.Endpoints)}");
        Add("");
        Add($"requests     {requests.Active} active, {requests.Queued} queued, {requests.Total} in all, {requests.Rejected.Values.Sum()} rejected, {requests.Aborted.Values.Sum()} aborted");
        Add($"connections  {connections.Active} open, {connections.Total} in all, {connections.Rejected + connections.Refused} rejected, {connections.ProtocolErrors.Values.Sum()} protocol errors");
        Add(Number($"rates        {recent.RequestsPerSecond:0.0} requests/s, {recent.ConnectionsPerSecond:0.0} connections/s, in {Size(recent.BytesReceivedPerSecond)}/s, out {Size(recent.BytesSentPerSecond)}/s"));
        Add($"latency      p50 {Latency(recent.P50)}, p90 {Latency(recent.P90)}, p99 {Latency(recent.P99)}, max {Latency(recent.Max)}");
        Add($"process      {Size(resources.ResidentMemory)}, {resources.Descriptors?.ToString(CultureInfo.InvariantCulture) ?? "?"} descriptors, {resources.PoolThreads} threads of the pool, {resources.PoolWaiting} waiting for one");
        foreach (var limit in status.Limits.Where(static limit => limit.Part >= 0.8))
            Add(Number($"limit        {limit.Name}: {limit.Used} of {limit.Limit}"), console.Yellow);
    }

    private void WriteFindings()
    {
        if (status.Recommendations.Count + status.Errors.Count == 0)
            return;

        Add("");
        foreach (var finding in status.Errors)
            Add($"{finding.Name} ({finding.Count})  {OneLine(finding.Message)}", console.Red);
        foreach (var finding in status.Recommendations)
            Add($"{finding.Name} ({finding.Count})  {OneLine(finding.Message)}", console.Yellow);
    }

    private void WriteRequests()
    {
        Add("");
        if (status.ActiveRequests.Count == 0)
        {
            Add("no request is under way");
            return;
        }

        Add($"{"AGE",8}  {"STATE",-18}  {"IN",9}  {"OUT",9}  {"CLIENT",-15}  REQUEST");
        foreach (var request in status.ActiveRequests.OrderByDescending(static request => request.Age))
            Add($"{Age(request.Age),8}  {request.State,-18}  {Size(request.BytesRead),9}  {Size(request.BytesWritten),9}  {request.Client ?? "-",-15}  {OneLine($"{request.Method} {request.Path}")}");
    }

    /// <summary>Clients write paths: nothing of them reaches the terminal as a control code.</summary>
    private static string OneLine(string text) => string.Concat(text.Select(static character => char.IsControl(character) ? ' ' : character));

    private void Add(string text, Func<string, string>? colour = null)
    {
        var line = OneLine(text);
        line = line.Length <= console.Width ? line : line[..Math.Max(console.Width - 1, 1)] + "…";
        _lines.Add(colour is null ? line.TrimEnd() : colour(line));
    }
}
