using Xunit.Abstractions;
using Xunit.Sdk;

namespace FastCgi.AspNetCore.Testing;

/// <summary>
/// The order of the tests of a class, and of the classes: the default, which is always the same, or a random one with
/// the seed in FASTCGI_TEST_ORDER. A test that depends on another one fails in some order.
/// </summary>
public sealed class DrawnOrder(IMessageSink messages) : ITestCaseOrderer, ITestCollectionOrderer
{
    private static readonly int? s_seed =
        Environment.GetEnvironmentVariable("FASTCGI_TEST_ORDER") is { Length: > 0 } seed
            ? int.Parse(seed, CultureInfo.InvariantCulture)
            : null;

    public IEnumerable<TTestCase> OrderTestCases<TTestCase>(IEnumerable<TTestCase> testCases)
        where TTestCase : ITestCase
        => s_seed is { } seed
            ? Shuffle(testCases, static test => test.UniqueID, seed)
            : new DefaultTestCaseOrderer(messages).OrderTestCases(testCases);

    public IEnumerable<ITestCollection> OrderTestCollections(IEnumerable<ITestCollection> testCollections)
        => s_seed is { } seed
            ? Shuffle(testCollections, static collection => collection.DisplayName, seed)
            : new DefaultTestCollectionOrderer().OrderTestCollections(testCollections);

    private static T[] Shuffle<T>(IEnumerable<T> items, Func<T, string> getName, int seed)
    {
        var order = items.OrderBy(getName, StringComparer.Ordinal).ToArray();
        new Random(seed).Shuffle(order);
        return order;
    }
}
