namespace FastCgi.AspNetCore.UnitTests.Cgi;

public sealed class StringCacheTests
{
    private readonly StringCache _cache = new();

    [Fact]
    public void GetString_SameBytesOrNone_SameString()
    {
        Assert.Same(_cache.GetString("/index.html"u8), _cache.GetString("/index.html"u8));
        Assert.Same(string.Empty, _cache.GetString([]));
    }

    [Fact]
    public void GetString_LongerThanACacheEntry_IsRightAndNotKept()
    {
        var bytes = Encoding.ASCII.GetBytes(new string('x', 193));

        Assert.Equal(new string('x', 193), _cache.GetString(bytes));
        Assert.NotSame(_cache.GetString(bytes), _cache.GetString(bytes));
        Assert.Same(_cache.GetString(bytes.AsSpan(1)), _cache.GetString(bytes.AsSpan(1)));
    }

    /// <summary>Strings with equal ends, which therefore share an entry.</summary>
    [Fact]
    public void GetString_StringsDifferInTheMiddle_AreDistinguished()
    {
        for (var round = 0; round < 3; round++)
        {
            foreach (var middle in "abcdefgh")
                Assert.Equal($"12345678{middle}12345678", _cache.GetString(Encoding.ASCII.GetBytes(
                    $"12345678{middle}12345678")));
        }
    }

    [Fact]
    public async Task GetString_Concurrent_IsRight()
    {
        var texts = Enumerable.Range(0, 3_000).Select(static i => "/path/" + i.ToString(
            "D4", System.Globalization.CultureInfo.InvariantCulture)).ToArray();
        var wrong = 0;

        await Task.WhenAll(Enumerable.Range(0, 4).Select(worker => Task.Run(() =>
        {
            for (var i = 0; i < texts.Length; i++)
            {
                var text = texts[(i * (worker + 1)) % texts.Length];
                if (_cache.GetString(Encoding.ASCII.GetBytes(text)) != text)
                    Interlocked.Increment(ref wrong);
            }
        })));

        Assert.Equal(0, wrong);
    }
}
