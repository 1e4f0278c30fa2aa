using System.Globalization;
using System.Text;
using System.Text.Encodings.Web;
using Npgsql;

namespace History.Site;

/// <summary>The home page of a shop: 50 rows of a database as HTML.</summary>
internal static class ProductsPage
{
    public static async Task<IResult> GetAsync(NpgsqlDataSource database, CancellationToken aborted)
    {
        var page = new StringBuilder("<!DOCTYPE html><html><head><title>Shop</title></head><body><h1>Shop</h1><table>");
        await using var command = database.CreateCommand(
            "SELECT name, description, price FROM product ORDER BY id LIMIT 50");
        await using var reader = await command.ExecuteReaderAsync(aborted);
        while (await reader.ReadAsync(aborted))
        {
            page.Append("<tr><td>").Append(HtmlEncoder.Default.Encode(reader.GetString(0)))
                .Append("</td><td>").Append(HtmlEncoder.Default.Encode(reader.GetString(1)))
                .Append("</td><td>")
                    .Append(reader.GetDecimal(2).ToString("0.00", CultureInfo.InvariantCulture))
                    .Append("</td></tr>");
        }

        page.Append("</table></body></html>");
        return TypedResults.Content(page.ToString(), "text/html; charset=utf-8");
    }
}
