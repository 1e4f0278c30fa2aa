namespace SideBySide.Driver.Cases;

/// <summary>
/// Handlers that block: on one path, which is known after the first request, and on a new path for each request.
/// </summary>
internal static class NewPathCases
{
    private const string Known = "one path";
    private const string Numbers = "a path with a new number for each request";
    private const string Words = "a path with a new word for each request";

    public static IEnumerable<Comparison> Make(Setup setup)
    {
        yield return Compare(setup, 10, "block for 50 ms", "", "hello alongside 10 that block on unique paths");
        yield return Compare(
            setup, 100, "sleep 20 ms", "short-", "hello alongside 100 that sleep 20 ms on unique paths");
    }

    private static Comparison Compare(Setup setup, int connections, string what, string prefix, string figure)
    {
        Contender Beside(string name, string path) => new(name, () =>
            new Mix($"/{prefix}{path}", connections, LearnSeconds: 2)
                .Measure(setup, new SiteServer(setup, name, isFastCgi: true)));
        Target Rate(string of, string text)
            => new(
                $"{figure}, {text}, relative to one path",
                of,
                Known,
                static sample => sample.Rate,
                Bound.AtLeast(0.9));

        return new Comparison(
            $"hello on 90 connections while {connections} more {what}, direct, TCP, FastCgi.AspNetCore",
            Beside(Known, "orders/1"), Beside(Numbers, "orders/{id}"), Beside(Words, "articles/{word}"))
        {
            Targets = [Rate(Numbers, "numbers"), Rate(Words, "words")],
        };
    }
}
