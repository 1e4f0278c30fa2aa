using System.Text.Json;

namespace FastCgi.AspNetCore.UnitTests;

/// <summary>The dashboard asks for what the server tells, by its names.</summary>
public sealed partial class DashboardTests
{
    private static readonly string s_dashboard = File.ReadAllText(Repository.GetPath("samples/grafana/fastcgi.json"));

    [Fact]
    public void Dashboard_IsJsonWithPanels()
    {
        using var document = JsonDocument.Parse(s_dashboard);

        Assert.True(document.RootElement.GetProperty("panels").GetArrayLength() >= 8);
    }

    /// <summary>The text is written by one file, whose calls have the names.</summary>
    [Fact]
    public void Dashboard_EachName_IsOneOfTheText()
    {
        var source = File.ReadAllText(Repository.GetPath("src/FastCgi.AspNetCore/Status/OpenMetricsText.cs"));
        var gauges = Gauge().Matches(source).Select(static match => match.Groups[1].Value);
        var counters = Counter().Matches(source).Select(static match => match.Groups[1].Value + "_total");
        HashSet<string> known = [.. gauges, .. counters, "recent_latency_seconds"];

        var asked = Name().Matches(s_dashboard).Select(static match => match.Groups[1].Value).Distinct().ToList();

        Assert.True(asked.Count > 10);
        Assert.Empty(asked.Except(known));
    }

    [GeneratedRegex("Gauge\\(\"(\\w+)\"")]
    private static partial Regex Gauge();

    [GeneratedRegex("Counters?\\(\"(\\w+)\"")]
    private static partial Regex Counter();

    [GeneratedRegex("fastcgi_server_(\\w+)")]
    private static partial Regex Name();
}
