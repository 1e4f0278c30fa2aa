namespace FastCgi.AspNetCore.UnitTests.Execution;

public sealed class PathKeyTests
{
    [Theory]
    [InlineData("/orders/1", "/orders/98765432")]
    [InlineData("/orders/1/lines/2", "/orders/77/lines/8")]
    [InlineData("/orders/3f2504e0-4f89-11d3-9a0c-0305e82c3301", "/orders/9b2d66a4-8b1e-4b5e-bfae-0a1f3c5d7e99")]
    [InlineData("/t/a1b2c3d4e5", "/t/9f8e7d6c5b")]
    [InlineData("/t/V1StGXR8_Z5jdHi6B-myT", "/t/x9KQm2_LpT0vB7nRw-4cZ")]
    [InlineData("/t/a1b2c3", "/t/x9y8z7")]
    [InlineData("/t/abcdefghijklmno1", "/t/zyxwvutsrqponml2")]
    [InlineData("/order-17/edit", "/order-204/edit")]
    [InlineData("/img/123.jpg", "/img/4.jpg")]
    [InlineData("/2024/11/some-title", "/1999/1/some-title")]
    [InlineData("/blog/2024-11-22-a-long-title", "/blog/2025-01-05-another-long-title")]
    public void Compute_PathsThatDifferInIdentities_IsTheSame(string path, string other)
        => Assert.Equal(new PathKey(path).Own, new PathKey(other).Own);

    [Theory]
    [InlineData("/orders", "/order")]
    [InlineData("/orders/1", "/invoices/1")]
    [InlineData("/orders/1", "/orders/1/lines")]
    [InlineData("/orders/1", "/orders/new")]
    [InlineData("/api/v1/orders", "/api/v2/orders")]
    [InlineData("/mp3", "/mp4")]
    [InlineData("/t/a1b2", "/t/x9y8")]
    [InlineData("/t/abcdefghijklmn1", "/t/zyxwvutsrqponm2")]
    [InlineData("/img/1.jpg", "/img/1.png")]
    [InlineData("/a/1", "/1/a")]
    [InlineData("/1/2column", "/1/column")]
    public void Compute_PathsOfOtherHandlers_Differs(string path, string other)
        => Assert.NotEqual(new PathKey(path).Own, new PathKey(other).Own);

    [Theory]
    [InlineData(null, "", "*", "/", "//", "1", "/1//2/", "/é1/\u4e00")]
    public void Compute_AnyPath_IsStable(params string?[] paths)
        => Assert.All(paths, static path => Assert.Equal(
            new PathKey(path).Own, new PathKey(path is null ? null : new string(path)).Own));
}
