using System.Text.Json;
using FastCgi.AspNetCore.Status;

namespace FastCgi.Tool.Commands;

/// <summary>Reads the status of a server. Whatever else answers with JSON has none.</summary>
internal static class StatusReader
{
    private static readonly StatusJson s_json = new(new JsonSerializerOptions(StatusJson.Default.Options) { RespectNullableAnnotations = true });

    /// <exception cref="JsonException">It is no status: something that each has is missing or null.</exception>
    public static StatusSnapshot Read(string text)
    {
        var status = JsonSerializer.Deserialize(text, s_json.StatusSnapshot);
        return status is not null && Are(status.Limits) && Are(status.Recommendations) && Are(status.Errors) && Are(status.FrontEnds) && Are(status.OpenConnections) && Are(status.ActiveRequests)
            ? status
            : throw new JsonException("It is JSON, and no status of FastCgi.AspNetCore.");
    }

    private static bool Are<T>(IReadOnlyList<T> items)
        => items.All(static item => item is not null);
}
