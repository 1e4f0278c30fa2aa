using System.Text.Json;
using FastCgi.AspNetCore.Status;

namespace FastCgi.Tool.Commands;

/// <summary>Reads the status of a server.</summary>
internal static class StatusReader
{
    private static readonly StatusJson s_json = new(new JsonSerializerOptions(StatusJson.Default.Options) { RespectNullableAnnotations = true });

    /// <exception cref="JsonException">It is not a status: something is missing or null.</exception>
    public static StatusSnapshot Read(string text)
    {
        var status = JsonSerializer.Deserialize(text, s_json.StatusSnapshot);
        IEnumerable<object?>[] lists = status is null
            ? [[null]]
            : [status.Limits, status.Recommendations, status.Errors, status.FrontEnds, status.OpenConnections, status.ActiveRequests];
        return lists.Any(static list => list.Contains(null)) ? throw new JsonException("It is not the status of FastCgi.AspNetCore.") : status!;
    }
}
