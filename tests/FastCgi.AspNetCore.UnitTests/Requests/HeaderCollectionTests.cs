namespace FastCgi.AspNetCore.UnitTests.Requests;

/// <summary>Both header collections as <see cref="IHeaderDictionary"/>, compared with Microsoft's.</summary>
public sealed class HeaderCollectionTests
{
    private readonly RequestHeaders _request = RequestHeadersBuilder.Build();
    private readonly ResponseHeaders _response = new();

    /// <summary>Any sequence of changes leaves the same as in <see cref="HeaderDictionary"/>.</summary>
    [Theory]
    [InlineData(true, 5)]
    [InlineData(false, 5)]
    [InlineData(true, 60)]
    [InlineData(false, 60)]
    public void Change_AnySequence_AsHeaderDictionary(bool ofRequest, int names)
    {
        var random = new Random(names);
        var headers = Headers(ofRequest);
        var oracle = new HeaderDictionary();
        for (var round = 0; round < 2_000; round++)
        {
            var name = RandomName(random, names);
            var values = RandomValues(random);
            switch (random.Next(7))
            {
                case 0 or 1:
                    headers[name] = values;
                    oracle[name] = values;
                    break;
                case 2:
                    Assert.Equal(Throws(() => oracle.Add(name, "a")), Throws(() => headers.Add(name, "a")));
                    break;
                case 3:
                    Assert.Equal(oracle.Remove(name), headers.Remove(name));
                    break;
                case 4:
                    var pair = new KeyValuePair<string, StringValues>(name, values);
                    Assert.Equal(oracle.Contains(pair), headers.Contains(pair));
                    Assert.Equal(((IDictionary<string, StringValues>)oracle).Remove(pair), headers.Remove(pair));
                    break;
                case 5:
                    oracle.Append(name, values);
                    headers.Append(name, values);
                    break;
                case 6 when random.Next(50) == 0:
                    oracle.Clear();
                    headers.Clear();
                    break;
            }

            AssertSame(oracle, headers, RandomName(random, names));
        }
    }

    /// <summary>Headers of a request may be read by several threads, of which each may be the first.</summary>
    [Fact]
    public async Task Read_ByTwoThreadsAtOnce_EachSeesAll()
    {
        for (var round = 0; round < 200; round++)
        {
            var variables = Enumerable.Range(0, 40).Select(static i => ($"HTTP_X_{i}", $"{i}")).ToArray();
            var headers = RequestHeadersBuilder.Build(variables);
            using var start = new Barrier(2);
            var counts = await Task.WhenAll(Enumerable.Range(0, 2).Select(_ => Task.Factory.StartNew(
                () =>
                {
                    start.SignalAndWait(Waiting.Patience);
                    return headers.Count(header => headers[header.Key] == header.Value);
                },
                CancellationToken.None,
                TaskCreationOptions.LongRunning,
                TaskScheduler.Default)));
            Assert.Equal([40, 40], counts);
        }
    }

    private static void AssertSame(HeaderDictionary oracle, HeaderCollection headers, string probe)
    {
        Assert.Equal(oracle.Count, headers.Count);
        Assert.Equal(oracle.TryGetValue(probe, out var expected), headers.TryGetValue(probe, out var actual));
        Assert.Equal(expected, actual);
        Assert.Equal(oracle[probe], headers[probe]);
        Assert.Equal(oracle.ContainsKey(probe), headers.ContainsKey(probe));

        var copy = new KeyValuePair<string, StringValues>[headers.Count + 1];
        headers.CopyTo(copy, 1);
        Assert.Equal(Sort(oracle), Sort(copy.Skip(1)));
    }

    private static IEnumerable<KeyValuePair<string, StringValues>> Sort(
        IEnumerable<KeyValuePair<string, StringValues>> headers)
        => headers.OrderBy(static header => header.Key, StringComparer.Ordinal);

    private static string? Throws(Action action) => Record.Exception(action)?.GetType().Name;

    private static string RandomName(Random random, int names)
    {
        var name = Name(random.Next(names));
        return random.Next(3) == 0 ? name.ToLowerInvariant() : name;
    }

    private static StringValues RandomValues(Random random) => random.Next(4) switch
    {
        0 => StringValues.Empty,
        1 => new StringValues(["1", "2"]),
        2 => "",
        _ => "a",
    };

    private static string Name(int i) => "X-Header-" + i.ToString(CultureInfo.InvariantCulture);

    private HeaderCollection Headers(bool ofRequest) => ofRequest ? _request : _response;
}
