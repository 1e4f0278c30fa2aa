namespace FastCgi.AspNetCore.UnitTests.Advice;

/// <summary>Conclusions about a web server's configuration from the parameters of a request.</summary>
public sealed class FrontEndsTests
{
    private readonly FakeClock _time = new();
    private readonly FrontEnds _frontEnds;

    public FrontEndsTests() => _frontEnds = new FrontEnds(_time);

    [Theory]
    [InlineData(
        "samples lacking-host", "", "HTTPS=", "SERVER_PROTOCOL=HTTP/1.1", "SERVER_PORT=80",
        "HTTP_X_FORWARDED_PROTO=http", "HTTP_ACCEPT=443")]
    [InlineData("samples kept lacking-host", "")]
    [InlineData("samples scheme lacking-host", "HTTPS=on", "REQUEST_SCHEME=http", "SERVER_PORT=443 HTTPS=on")]
    [InlineData("samples target lacking-host", "REQUEST_URI=/")]
    [InlineData("samples", "HTTP_HOST=a", "SERVER_PROTOCOL=HTTP/1.0")]
    [InlineData("samples client lacking-host", "REMOTE_ADDR=192.0.2.1")]
    [InlineData("samples user lacking-host", "REMOTE_USER=me")]
    [InlineData(
        "samples lacking-scheme lacking-host",
        "SERVER_PORT=443",
        "HTTP_X_FORWARDED_PROTO=HTTPS",
        "SERVER_PORT=443 HTTP_X_FORWARDED_PROTO=https")]
    [InlineData(
        "samples lacking-scheme lacking-host",
        "HTTP_X_FORWARDED_PROTO=https SERVER_PORT=443",
        "HTTP_X_FORWARDED_PROTO=https SERVER_PORT=80")]
    [InlineData("samples lacking-scheme lacking-host", "SERVER_PORT=443 HTTP_X_FORWARDED_PROTO=http")]
    public void Sample_Parameters_EachIsCounted(string counted, params string[] texts)
        => Assert.All(texts, parameters =>
        {
            var frontEnds = new FrontEnds(_time);
            var keeps = counted.Contains("kept");
            frontEnds.Sample("nginx", Pairs(parameters), keeps);

            var seen = Assert.Single(frontEnds.GetAll());
            Assert.Equal(("nginx", _time.GetUtcNow()), (seen.Software, seen.LastSeen));
            Assert.Equal(counted, Describe(seen, 1));
            frontEnds.Sample("nginx", Pairs(parameters), keeps);
            Assert.Equal(counted, Describe(Assert.Single(frontEnds.GetAll()), 2));
            // A snapshot does not change.
            Assert.Equal(1, seen.Samples);
        });

    [Fact]
    public void TryAcquire_OncePerTick()
    {
        Assert.True(_frontEnds.TryAcquire(7));
        Assert.False(_frontEnds.TryAcquire(7));
        Assert.True(_frontEnds.TryAcquire(8));
    }

    private static RequestParameters Pairs(string text)
        => new(
            new CgiMapping(new()),
            RecordBytes.Pairs([.. text.Split(' ', StringSplitOptions.RemoveEmptyEntries).Select(
                static pair => (pair.Split('=')[0], pair.Split('=')[1]))]));

    private static string Describe(FrontEnd seen, int times)
    {
        (string, long)[] all =
        [
            ("samples", seen.Samples), ("kept", seen.KeepConnection), ("scheme", seen.WithScheme),
            ("lacking-scheme", seen.WithoutScheme), ("target", seen.WithTarget),
            ("client", seen.WithClient), ("user", seen.WithUser), ("lacking-host", seen.WithoutHost),
        ];
        Assert.All(all, count => Assert.Contains(count.Item2, new[] { 0L, times }));
        return string.Join(' ', all.Where(static count => count.Item2 > 0).Select(static count => count.Item1));
    }
}
