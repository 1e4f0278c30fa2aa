namespace FastCgi.AspNetCore.UnitTests.Advice;

public sealed class UnmappedPathsTests
{
    private readonly UnmappedPaths _paths = new();

    [Theory]
    [InlineData("/app", "/app/", "/app/a", "/app/b", "/app/c/d", "/app/e")]
    [InlineData(null, "/app/", "/app/a", "/app/b", "/app/c/d")]
    [InlineData(null, "/app/", "/app/a", "/app/b", "/app/c/d", "/other/e")]
    [InlineData("/app", null, "", "*", "/", "/favicon.ico", "/app/1", "/app/2", "/app/3", "/app/4", "/app/5")]
    public void FindPathBase_NotFound_IsTheSegmentThatAllShare(string? expected, params string?[] paths)
    {
        Array.ForEach(paths, _paths.AddNotFound);

        Assert.Equal(expected, _paths.FindPathBase());
    }

    [Fact]
    public void FindPathBase_ARequestWasServed_None()
    {
        for (var i = 0; i < 5; i++)
            _paths.AddNotFound("/app/page");
        _paths.End();

        Assert.Null(_paths.FindPathBase());
    }
}
