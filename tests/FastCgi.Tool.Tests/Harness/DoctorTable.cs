namespace FastCgi.Tool.Tests.Harness;

/// <summary>The tables of <c>DoctorTables.tsv</c>.</summary>
public static class DoctorTable
{
    public static IEnumerable<object[]> GetRows(string table)
    {
        var file = Path.Combine(AppContext.BaseDirectory, "DoctorTables.tsv");
        var rows = File.ReadLines(file)
            .SkipWhile(line => line != $"table\t{table}")
            .Skip(1)
            .TakeWhile(static line => !line.StartsWith("table\t", StringComparison.Ordinal))
            .Where(static line => !line.StartsWith('#'))
            .Select(static line => line.Replace("\\n", "\n", StringComparison.Ordinal).Split('\t'))
            .ToList();
        Assert.NotEmpty(rows);
        return rows;
    }
}
