using System.Collections.Concurrent;
using System.Diagnostics.Tracing;
using System.Globalization;

namespace FastCgi.AspNetCore.SocketTests.Hosting;

/// <summary>Subscribes to a meter as dotnet-counters does: to the same source, with the same arguments, but in the same process.</summary>
internal sealed class CounterListener : EventListener
{
    private const EventKeywords TimeSeriesValues = (EventKeywords)2;

    private readonly ConcurrentDictionary<string, string> _values = new();

    /// <summary>The instruments of which there was a value.</summary>
    public HashSet<string> Names => [.. _values.Keys];

    /// <summary>Waits until an instrument has a value, or any.</summary>
    public Task WaitAsync(string name, string? value = null)
        => Waiting.UntilAsync(() => _values.TryGetValue(name, out var found) && (value is null || found == value), $"{name} {value}");

    protected override void OnEventSourceCreated(EventSource eventSource)
    {
        if (eventSource.Name == "System.Diagnostics.Metrics")
        {
            EnableEvents(eventSource, EventLevel.Informational, TimeSeriesValues, new Dictionary<string, string?>
            {
                ["SessionId"] = "test",
                ["Metrics"] = "FastCgi.AspNetCore",
                ["RefreshInterval"] = "0.1",
                ["MaxTimeSeries"] = "1000",
                ["MaxHistograms"] = "10",
            });
        }
    }

    protected override void OnEventWritten(EventWrittenEventArgs eventData)
    {
        if (eventData.PayloadNames is not { } names || eventData.Payload is not { } payload || !names.Contains("instrumentName"))
            return;

        // "value" of one that goes up and down, "rate" of a counter.
        var value = names.IndexOf("value") is >= 0 and var index ? index : names.IndexOf("rate");
        if (value >= 0)
            _values[(string)payload[names.IndexOf("instrumentName")]!] = Convert.ToString(payload[value], CultureInfo.InvariantCulture)!;
    }
}
