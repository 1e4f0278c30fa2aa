using Dapper;
using Npgsql;

namespace SideBySide.Site;

/// <summary>Rows of a database as JSON, without await.</summary>
internal static class Articles
{
    private const string Query = "SELECT id, title FROM article WHERE id <= @count ORDER BY id";

    public static List<Article> ReadWithNpgsql(NpgsqlDataSource database, int count)
    {
        using var command = database.CreateCommand(Query);
        command.Parameters.AddWithValue("count", count);
        using var reader = command.ExecuteReader();
        var articles = new List<Article>();
        while (reader.Read())
            articles.Add(new Article(reader.GetInt32(0), reader.GetString(1)));
        return articles;
    }

    public static List<Article> ReadWithDapper(NpgsqlDataSource database, int count)
    {
        using var connection = database.OpenConnection();
        return connection.Query<Article>(Query, new { count }).AsList();
    }
}

internal sealed record Article(int Id, string Title);
