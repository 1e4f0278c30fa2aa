namespace FastCgi.AspNetCore.UnitTests.Cgi;

public sealed class PathBaseTests
{
    [Theory]
    [InlineData("/app", "/app/x", "/app", "/x")]
    [InlineData("/app", "/app/", "/app", "/")]
    [InlineData("/app", "/app", "/app", "")]
    [InlineData("/app", "/APP/x", "/APP", "/x")]
    [InlineData("/app", "/application", "", "/application")]
    [InlineData("/app", "/ap", "", "/ap")]
    [InlineData("/app", "/", "", "/")]
    [InlineData("/app", "/app//x", "/app", "//x")]
    [InlineData("/app", "//app/x", "", "//app/x")]
    [InlineData("/app", "/%61pp/x", "/app", "/x")]
    [InlineData("/app", "/app%2Fx", "", "/app%2Fx")]
    [InlineData("/app", "/other/../app/x", "/app", "/x")]
    [InlineData("/app", "/app/../x", "", "/x")]
    [InlineData("/app", "/app%5Cx", "", "/app\\x")]
    [InlineData("/app", "/app?/x", "/app", "")]
    [InlineData("/a/b", "/A/B/c", "/A/B", "/c")]
    [InlineData("/a/b", "/a/bc", "", "/a/bc")]
    [InlineData("/a b", "/a%20b/c", "/a b", "/c")]
    [InlineData("/größe", "/gr%C3%B6%C3%9Fe/x", "/größe", "/x")]
    [InlineData("/größe", "/gr%C3%96%C3%9Fe/x", "", "/grÖße/x")]
    [InlineData("", "/app/x", "", "/app/x")]
    public void Map_PathBase_IsWholeSegmentsInTheSpellingOfTheRequest(
        string pathBase, string requestUri, string expectedBase, string expectedPath)
    {
        var head = CgiParameters.Get(("REQUEST_URI", requestUri)).Map(new CgiMapping(new() { PathBase = pathBase }));

        Assert.Equal((expectedBase, expectedPath), (head.PathBase, head.Path));
    }

    [Theory]
    [InlineData("/app", "/app", "/x")]
    [InlineData("/app/", "/app", "/x")]
    [InlineData("app", "", "/app/x")]
    [InlineData("/", "", "/app/x")]
    [InlineData("//", "", "/app/x")]
    [InlineData("/app/x/y", "", "/app/x")]
    [InlineData("/app\0", "", "/app/x")]
    [InlineData("\xff", "", "/app/x")]
    public void Map_Parameter_IsThePathBaseIfThePathBeginsWithIt(
        string pathBase, string expectedBase, string expectedPath)
    {
        var head = CgiParameters.Get(("REQUEST_URI", "/app/x"), ("PATH_BASE", pathBase)).Map();

        Assert.Equal((expectedBase, expectedPath), (head.PathBase, head.Path));
    }

    [Fact]
    public void Map_ParameterAndOption_TheParameterCounts()
    {
        var mapping = new CgiMapping(new() { PathBase = "/option" });

        Assert.Equal(
            "/param", CgiParameters.Get(("REQUEST_URI", "/param/x"), ("PATH_BASE", "/param")).Map(mapping).PathBase);
        Assert.Equal(
            "", CgiParameters.Get(("REQUEST_URI", "/option/x"), ("PATH_BASE", "/param")).Map(mapping).PathBase);
        Assert.Equal("", CgiParameters.Get(("REQUEST_URI", "/option/x"), ("PATH_BASE", "/")).Map(mapping).PathBase);
        Assert.Equal(
            "/option", CgiParameters.Get(("REQUEST_URI", "/option/x"), ("PATH_BASE", "")).Map(mapping).PathBase);
    }

    [Fact]
    [Contract("T4")]
    public void Map_HeaderWithABaseOrUntrustedScriptName_IsIgnored()
    {
        foreach (var name in (string[])["HTTP_PATH_BASE", "HTTP_X_FORWARDED_PREFIX", "path_base"])
            Assert.Equal("", CgiParameters.Get(("REQUEST_URI", "/app/x"), (name, "/app")).Map().PathBase);
        Assert.Equal(
            "",
            CgiParameters.Get(("REQUEST_URI", "/app/x"), ("SCRIPT_NAME", "/app"), ("PATH_INFO", "/x")).Map().PathBase);
    }

    [Theory]
    [InlineData("/app", "/x", "/app/x", "/app", "/x")]
    [InlineData("/app", "", "/app", "/app", "")]
    [InlineData("/app", "/x", "/APP/x", "/APP", "/x")]
    [InlineData("/app", null, "/app/x", "", "/app/x")]
    [InlineData("", "/app/x", "/app/x", "", "/app/x")]
    [InlineData("/other", "/x", "/app/x", "", "/app/x")]
    [InlineData("/a b", "/c", "/a%20b/c", "/a b", "/c")]
    [InlineData("/app/x", "", "/app", "", "/app")]
    public void Map_ScriptNameTrusted_IsThePathBaseIfPathInfoCame(
        string scriptName, string? pathInfo, string requestUri, string expectedBase, string expectedPath)
    {
        var parameters = CgiParameters.Get(("REQUEST_URI", requestUri), ("SCRIPT_NAME", scriptName));
        if (pathInfo is not null)
            parameters.Add("PATH_INFO", pathInfo);
        var head = parameters.Map(new CgiMapping(new() { TrustScriptName = true }));

        Assert.Equal((expectedBase, expectedPath), (head.PathBase, head.Path));
    }

    [Fact]
    public void Map_OptionAndAnotherSource_TheOptionCounts()
    {
        var trusting = new CgiMapping(new() { PathBase = "/a", TrustScriptName = true });
        Assert.Equal("/a", CgiParameters.Get((
            "REQUEST_URI", "/a/b/c"), ("SCRIPT_NAME", "/a/b"), ("PATH_INFO", "/c")).Map(trusting).PathBase);

        var parameters = CgiParameters.Get(
            ("DOCUMENT_URI", "/app/x y"), ("SCRIPT_NAME", "/app"), ("PATH_INFO", "/x y"), ("REQUEST_URI", "/app/old"));
        foreach (
            var source in (FastCgiPathSource[])[FastCgiPathSource.DocumentUri, FastCgiPathSource.ScriptNameAndPathInfo])
        {
            var head = parameters.Map(new CgiMapping(new() { PathBase = "/app", PathSource = source }));
            Assert.Equal(("/app", "/x y"), (head.PathBase, head.Path));
        }
    }

    /// <summary>
    /// CVE-2019-11043 computed one variable's place from another's length: no combination may do more than leave the
    /// path whole.
    /// </summary>
    [Fact]
    public void Map_ContradictoryVariables_PathIsWholeOrSplitAtABoundary()
    {
        string[] values =
        [
            "", "/", "/a", "/a\nb", "\n", "/a/b", "/a/b/c", "b", "/\xc3\xa9", new('/', 300), "/" + new string('x', 300),
        ];
        string[] requestUris = ["/", "/a%0ab", "/a/b/c", "/a/b?c", "//"];
        var combinations =
            from source in Enum.GetValues<FastCgiPathSource>()
            from scriptName in values
            from pathInfo in values
            from requestUri in requestUris
            select (
                source,
                CgiParameters.Get(("REQUEST_URI", requestUri), ("SCRIPT_NAME", scriptName), ("PATH_INFO", pathInfo)));

        foreach (var (source, parameters) in combinations)
        {
            var head = parameters.Map(new CgiMapping(new() { PathSource = source, TrustScriptName = true }));

            Assert.Equal(parameters.Map(new CgiMapping(new() { PathSource = source })).Path, head.PathBase + head.Path);
            Assert.True(head.PathBase.Length == 0 || head.Path.Length == 0 || head.Path[0] == '/');
        }
    }
}
