using System.Text.Json.Serialization;

namespace FastCgi.AspNetCore.Status;

/// <summary>The status at one moment, as <c>?format=json</c> shows it. Times in seconds, memory in bytes.</summary>
internal sealed record StatusSnapshot
{
    public required string Application { get; init; }
    public required string Version { get; init; }
    public required string Runtime { get; init; }
    public required string System { get; init; }
    public required int ProcessId { get; init; }
    public required DateTimeOffset StartedAt { get; init; }
    public required double Uptime { get; init; }
    public required DateTimeOffset TakenAt { get; init; }
    public required string State { get; init; }
    public required string Engine { get; init; }
    public required int Loops { get; init; }
    public required string Scheduling { get; init; }
    public required IReadOnlyList<string> Endpoints { get; init; }
    public required ConnectionTotals Connections { get; init; }
    public required RequestTotals Requests { get; init; }
    public required RecentStatus Recent { get; init; }
    public required ResourceStatus Resources { get; init; }
    public required IReadOnlyList<LimitStatus> Limits { get; init; }
    public required IReadOnlyList<JournalEntry> Recommendations { get; init; }
    public required IReadOnlyList<JournalEntry> Errors { get; init; }
    public required IReadOnlyList<FrontEnd> FrontEnds { get; init; }

    /// <summary>Sampled requests of web servers beyond those listed.</summary>
    public long OtherFrontEndSamples { get; init; }
    public required IReadOnlyList<ConnectionDescription> OpenConnections { get; init; }
    public required IReadOnlyList<RequestDescription> ActiveRequests { get; init; }
}

internal sealed record ConnectionTotals(
    long Active, long Total, long Rejected, long Refused, long BytesReceived, long BytesSent,
    IReadOnlyDictionary<string, long> ProtocolErrors);

internal sealed record RequestTotals(
    long Active, long Queued, long Total, IReadOnlyDictionary<string, long> Rejected,
    IReadOnlyDictionary<string, long> Aborted);

/// <summary>The last minute, or less. Latencies are from BEGIN_REQUEST to the end, in seconds.</summary>
internal sealed record RecentStatus(
    double Seconds, double RequestsPerSecond, double ConnectionsPerSecond, double BytesReceivedPerSecond,
    double BytesSentPerSecond, long Measured, double? P50, double? P90, double? P99, double? Max);

internal sealed record ResourceStatus(
    long BufferMemory, long ManagedMemory, long ResidentMemory, double ProcessorTime, long? Descriptors, long HandOvers,
    int Threads, int BlockedThreads, int RequestsWithoutThread, int PoolThreads, long PoolWaiting);

internal sealed record LimitStatus(string Name, string Limit, long? Used, double? Part);

[JsonSourceGenerationOptions(
    PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase, UseStringEnumConverter = true, WriteIndented = true)]
[JsonSerializable(typeof(StatusSnapshot))]
internal sealed partial class StatusJson : JsonSerializerContext;
