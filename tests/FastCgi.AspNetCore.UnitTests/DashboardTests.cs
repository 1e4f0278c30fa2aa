using System.Text.Json;

namespace FastCgi.AspNetCore.UnitTests;

/// <summary>The dashboard queries only metrics that the server exports, by their names.</summary>
public sealed partial class DashboardTests
{
    private static readonly string s_dashboard = File.ReadAllText(Repository.GetPath("samples/grafana/fastcgi.json"));

    [Fact]
    public void Dashboard_IsJsonWithPanels()
    {
        using var document = JsonDocument.Parse(s_dashboard);

        Assert.True(document.RootElement.GetProperty("panels").GetArrayLength() >= 8);
    }

    /// <summary>An exporter for Prometheus adds the unit and, to counters, <c>_total</c>.</summary>
    [Fact]
    public void Dashboard_EachName_IsAnInstrument()
    {
        var source = File.ReadAllText(Repository.GetPath("src/FastCgi.AspNetCore/Hosting/ServerMetrics.cs"));
        var known = Instrument().Matches(source)
            .Select(static match => match.Groups[2].Value
                + (match.Groups[3].Value == "By" ? "_bytes" : "")
                + (match.Groups[1].Value == "Counter" ? "_total" : ""));

        var asked = Name().Matches(s_dashboard).Select(static match => match.Groups[1].Value).Distinct().ToList();

        Assert.True(asked.Count > 10);
        Assert.Empty(asked.Except(known));
    }

    [GeneratedRegex("(Gauge|Counter)\\(meter, \"(\\w+)\", \"([^\"]+)\"")]
    private static partial Regex Instrument();

    [GeneratedRegex("fastcgi_server_(\\w+)")]
    private static partial Regex Name();
}
