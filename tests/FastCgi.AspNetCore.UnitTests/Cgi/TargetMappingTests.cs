namespace FastCgi.AspNetCore.UnitTests.Cgi;

/// <summary>Path, query and raw target, from each source.</summary>
public sealed class TargetMappingTests
{
    /// <summary>The variables that are used, separated by bars.</summary>
    [Theory]
    [Contract("T4")]
    [InlineData(
        FastCgiPathSource.RequestUri,
        "SCRIPT_NAME=/s|PATH_INFO=/p|DOCUMENT_URI=/d|QUERY_STRING=z=1|REQUEST_URI=/a?b=2",
        "/a",
        "?b=2",
        "/a?b=2")]
    [InlineData(
        FastCgiPathSource.DocumentUri,
        "REQUEST_URI=/old%2Fx?q=1|DOCUMENT_URI=/new/\xc3\xa9/../y|QUERY_STRING=r=2",
        "/new/y",
        "?r=2",
        "/old%2Fx?q=1")]
    [InlineData(FastCgiPathSource.DocumentUri, "REQUEST_URI=/a%20b|DOCUMENT_URI=", "/a b", "", "/a%20b")]
    [InlineData(FastCgiPathSource.DocumentUri, "SCRIPT_NAME=/s", "/s", "", "/s")]
    [InlineData(
        FastCgiPathSource.ScriptNameAndPathInfo,
        "REQUEST_URI=/old?q=1|SCRIPT_NAME=/new|PATH_INFO=/y%20z|QUERY_STRING=",
        "/new/y%20z",
        "",
        "/old?q=1")]
    [InlineData(FastCgiPathSource.RequestUri, "", "/", "", "/")]
    public void Map_FromEachSource_IsThePathAndTheQuery(
        FastCgiPathSource source, string variables, string path, string query, string rawTarget)
    {
        var mapping = new CgiMapping(new() { PathSource = source });
        var parameters = CgiParameters.Parse(variables);
        var head = parameters.Map(mapping);

        Assert.Equal(("", path, query), (head.PathBase, head.Path, head.QueryString));
        Assert.Equal(rawTarget, parameters.GetRawTarget(mapping));
    }

    [Theory]
    [InlineData("/a", "x=1", "?x=1")]
    [InlineData("/a", "", "")]
    [InlineData("/a?", "", "?")]
    [InlineData("/a?", "x=1", "?")]
    [InlineData("/a?b", "x=1", "?b")]
    public void Map_RequestUriWithoutQuery_QueryStringAddsOne(string requestUri, string queryString, string query)
        => Assert.Equal(
            query, CgiParameters.Get(("REQUEST_URI", requestUri), ("QUERY_STRING", queryString)).Map().QueryString);

    [Theory]
    [InlineData(
        "a", "a/b", "?a", "#a", " /a", "www.example.test:443", "://h/a", "1http://h/a", "http:/a", "a/b://c",
        "a?b://c")]
    [InlineData("/caf\xc3\xa9", "/caf\xe9", "/a?\xe9", "/a\0", "/a?\0")]
    public void Map_NoTarget_Rejected(params string[] targets) => Assert.All(targets, static target =>
    {
        var parameters = CgiParameters.Get(("REQUEST_URI", target));
        Assert.Equal(RequestRejection.InvalidTarget, parameters.Reject());
        Assert.Equal("", parameters.GetRawTarget());
    });

    [Fact]
    [Contract("H7")]
    public void Map_Asterisk_ForOptionsOnly()
    {
        var options = new CgiParameters().Add("REQUEST_METHOD", "OPTIONS")
            .Add("REQUEST_URI", "*").Add("PATH_INFO", "/*").Add("PATH_BASE", "/app");
        var head = options.Map();

        Assert.Equal(("", "", ""), (head.PathBase, head.Path, head.QueryString));
        Assert.Equal("*", options.GetRawTarget());
        Assert.Equal(RequestRejection.AsteriskTarget, CgiParameters.Get(("REQUEST_URI", "*")).Reject());
    }

    [Theory]
    [InlineData("/s", "/p", "/s/p", "/s/p")]
    [InlineData("/s", "", "/s", "/s")]
    [InlineData("", "/p", "/p", "/p")]
    [InlineData("/", "", "/", "/")]
    [InlineData("/", "/p", "//p", "//p")]
    [InlineData("", "", "/", "/")]
    [InlineData("s", "p", "/sp", "/sp")]
    [InlineData("/a b", "/100%/\xc3\xa9", "/a b/100%/é", "/a%20b/100%25/%C3%A9")]
    [InlineData("/a", "/b%2Fc", "/a/b%2Fc", "/a/b%2Fc")]
    [InlineData("/a", "/./b/../c", "/a/c", "/a/./b/../c")]
    [InlineData("/a", "/../../etc", "/etc", "/a/../../etc")]
    [InlineData("/a", "\nb", "/a\nb", "/a%0Ab")]
    public void Map_WithoutRequestUri_ScriptNameAndPathInfo(
        string scriptName, string pathInfo, string path, string rawTarget)
    {
        var parameters = CgiParameters.Get(
            ("SCRIPT_NAME", scriptName), ("PATH_INFO", pathInfo), ("QUERY_STRING", "q=%20"));
        var head = parameters.Map();

        Assert.Equal(("", path, "?q=%20"), (head.PathBase, head.Path, head.QueryString));
        Assert.Equal(rawTarget + "?q=%20", parameters.GetRawTarget());
    }

    [Theory]
    [InlineData("SCRIPT_NAME", "/\0", RequestRejection.NullCharacterInPath)]
    [InlineData("PATH_INFO", "/a\0b", RequestRejection.NullCharacterInPath)]
    [InlineData("SCRIPT_NAME", "/\xe9", RequestRejection.InvalidTarget)]
    [InlineData("PATH_INFO", "/\xc3", RequestRejection.InvalidTarget)]
    internal void Map_DecodedPathIsNotText_Rejected(string name, string value, RequestRejection rejection)
        => Assert.Equal(rejection, CgiParameters.Get((name, value)).Reject());

    [Fact]
    public void GetRawTarget_MalformedParameters_Empty()
        => Assert.Equal("", CgiRequestMapper.GetRawTarget([1, 2, 3], new CgiMapping(new())));

    [Fact]
    [Contract("H6")]
    public void Map_PathEqualsItsRawForm_IsTheSameString()
    {
        var mapping = new CgiMapping(new());
        var parameters = CgiParameters.Get(("REQUEST_URI", "/a/b"));

        Assert.Same(parameters.Map(mapping).Path, parameters.GetRawTarget(mapping));
    }
}
