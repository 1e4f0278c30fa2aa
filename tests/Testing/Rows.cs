namespace FastCgi.AspNetCore.Testing;

/// <summary>Rows of a theory with two arguments: each value of one with each of the other.</summary>
public static class Rows
{
    public static TheoryData<T1, T2> Cross<T1, T2>(IEnumerable<T1> first, params IEnumerable<T2> second)
    {
        var rows = new TheoryData<T1, T2>();
        foreach (var one in first)
        {
            foreach (var other in second)
                rows.Add(one, other);
        }

        return rows;
    }
}
