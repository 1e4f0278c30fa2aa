using System.Text;
using System.Text.Encodings.Web;
using Npgsql;

namespace SideBySide.Site;

/// <summary>
/// A page that reads a dozen rows from a database, adds one, sorts them, and escapes them into a table.
/// </summary>
internal static class Fortunes
{
    public static async Task<IResult> GetPageAsync(NpgsqlDataSource database, CancellationToken aborted)
    {
        var fortunes = new List<string>();
        await using var command = database.CreateCommand("SELECT message FROM fortune");
        await using var reader = await command.ExecuteReaderAsync(aborted);
        while (await reader.ReadAsync(aborted))
            fortunes.Add(reader.GetString(0));

        fortunes.Add("Additional fortune added at request time.");
        fortunes.Sort(StringComparer.Ordinal);
        var page = new StringBuilder("<!DOCTYPE html><html><head><title>Fortunes</title></head><body><table>");
        foreach (var fortune in fortunes)
            page.Append("<tr><td>").Append(HtmlEncoder.Default.Encode(fortune)).Append("</td></tr>");
        page.Append("</table></body></html>");
        return TypedResults.Content(page.ToString(), "text/html; charset=utf-8");
    }
}
