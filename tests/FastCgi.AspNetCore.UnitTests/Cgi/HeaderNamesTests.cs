using Known = Microsoft.Net.Http.Headers.HeaderNames;

namespace FastCgi.AspNetCore.UnitTests.Cgi;

public sealed class HeaderNamesTests
{
    /// <summary>The request headers that ASP.NET Core names and that another spelling would be wrong for.</summary>
    public static TheoryData<string> Headers =>
    [
        Known.Accept, Known.AcceptCharset, Known.AcceptEncoding, Known.AcceptLanguage, Known.AccessControlRequestHeaders,
        Known.AccessControlRequestMethod, Known.Authorization, Known.CacheControl, Known.Connection, Known.ContentEncoding, Known.ContentMD5,
        Known.Cookie, Known.Date, Known.DNT, Known.ETag, Known.Expect, Known.From, Known.Host, Known.IfMatch, Known.IfModifiedSince,
        Known.IfNoneMatch, Known.IfRange, Known.IfUnmodifiedSince, Known.KeepAlive, Known.MaxForwards, Known.Origin, Known.Pragma,
        Known.ProxyAuthorization, Known.Range, Known.Referer, Known.RequestId, Known.SecWebSocketKey, Known.TE, Known.TraceParent,
        Known.TraceState, Known.TransferEncoding, Known.Upgrade, Known.UpgradeInsecureRequests, Known.UserAgent, Known.Via,
        Known.XRequestedWith, "X-Forwarded-For", "X-Forwarded-Proto", "X-Real-IP", "Forwarded",
    ];

    [Theory]
    [MemberData(nameof(Headers))]
    public void TryGetHeaderName_KnownHeader_IsItsOwnSpelling(string header)
    {
        var variable = Variable(header);

        Assert.True(HeaderNames.TryGetHeaderName(variable, out var name));
        Assert.Equal(header, name);
        Assert.True(HeaderNames.IsVariableOf(variable, header));
        Assert.False(HeaderNames.IsIgnored(header));
    }

    /// <summary>A header that the table forgets is spelled by the general rule; there must be no other way to be wrong.</summary>
    [Fact]
    [Trait("Contract", "H9")]
    public void TryGetHeaderName_EveryHeaderThatAspNetCoreNames_IsItButForCase()
    {
        var names = typeof(Known).GetFields(BindingFlags.Public | BindingFlags.Static)
            .Select(static field => (string)field.GetValue(null)!)
            .Where(static name => name[0] != ':');
        foreach (var header in names.Except([Known.ContentType, Known.ContentLength]))
        {
            Assert.True(HeaderNames.TryGetHeaderName(Variable(header), out var name));
            Assert.Equal(header, name, ignoreCase: true);
        }
    }

    [Theory]
    [Trait("Contract", "T18")]
    [InlineData("CONTENT_TYPE", "Content-Type")]
    [InlineData("CONTENT_LENGTH", "Content-Length")]
    [InlineData("HTTP_X_FOO", "X-Foo")]
    [InlineData("HTTP_X", "X")]
    [InlineData("HTTP_X_FOO_BAR9_A", "X-Foo-Bar9-A")]
    [InlineData("HTTP_x_FOO", "X-Foo")]
    [InlineData("HTTP_X-FOO", "X-Foo")]
    [InlineData("HTTP_X.DOT", "X.dot")]
    [InlineData("HTTP_X!BANG#'*", "X!bang#'*")]
    [InlineData("HTTP__", "-")]
    [InlineData("HTTP___A", "--A")]
    [InlineData("HTTP_ı", null)]
    [InlineData("HTTP_X Y", null)]
    [InlineData("HTTP_X:", null)]
    [InlineData("HTTP_X\n", null)]
    [InlineData("HTTP_X\0", null)]
    [InlineData("HTTP_\xe9", null)]
    [InlineData("HTTP_", null)]
    [InlineData("HTTP", null)]
    [InlineData("HTTPS", null)]
    [InlineData("http_x_foo", null)]
    [InlineData("REDIRECT_HTTP_AUTHORIZATION", null)]
    [InlineData("REQUEST_METHOD", null)]
    [InlineData("SCRIPT_NAME", null)]
    [InlineData("", null)]
    [InlineData("HTTP_PROXY", null)]
    [InlineData("HTTP_proxy", null)]
    [InlineData("HTTP_CONTENT_TYPE", null)]
    [InlineData("HTTP_CONTENT_LENGTH", null)]
    [InlineData("HTTP_CONTENT-LENGTH", null)]
    [InlineData("HTTP_Content-Type", null)]
    public void TryGetHeaderName_Variable_IsItsHeaderOrNone(string variable, string? header)
    {
        var isHeader = HeaderNames.TryGetHeaderName(Encoding.UTF8.GetBytes(variable), out var name);

        Assert.Equal(header is not null, isHeader);
        if (header is not null)
            Assert.Equal(header, name);
    }

    [Theory]
    [InlineData("HTTP_X_FOO", "X-Foo", true)]
    [InlineData("HTTP_X_FOO", "x-fOO", true)]
    [InlineData("HTTP_x_foo", "X-FOO", true)]
    [InlineData("HTTP_X-FOO", "X-Foo", true)]
    [InlineData("HTTP_X.DOT", "x.Dot", true)]
    [InlineData("HTTP_X_FOO", "X_Foo", false)]
    [InlineData("HTTP_X_FOO", "XFoo", false)]
    [InlineData("HTTP_X_FOO", "X-Fo", false)]
    [InlineData("HTTP_X_FOO", "X-Fooo", false)]
    [InlineData("HTTP_X_FOO", "Y-Foo", false)]
    [InlineData("http_x_foo", "X-Foo", false)]
    [InlineData("SSL__X_FOO", "X-Foo", false)]
    [InlineData("HTTP_X Y", "X Y", false)]
    [InlineData("HTTP_X@", "X`", false)]
    [InlineData("HTTP_X^", "X~", false)]
    [InlineData("HTTP_I", "ı", false)]
    [InlineData("HTTP_I", "\u0130", false)]
    [InlineData("HTTP_K", "\u212a", false)]
    [InlineData("HTTP_\xe9", "\xe9", false)]
    public void IsVariableOf_NamesByTheSameRule(string variable, string header, bool isIt)
        => Assert.Equal(isIt, HeaderNames.IsVariableOf(Encoding.Latin1.GetBytes(variable), header));

    [Theory]
    [InlineData("Proxy", true)]
    [InlineData("PROXY", true)]
    [InlineData("content-type", true)]
    [InlineData("Content-Length", true)]
    [InlineData("Proxy-Authorization", false)]
    [InlineData("Content-Language", false)]
    [InlineData("Hosts", false)]
    public void IsIgnored_Header_TellsWhetherItComesFromNoVariable(string header, bool isIgnored)
        => Assert.Equal(isIgnored, HeaderNames.IsIgnored(header));

    [Theory]
    [InlineData("Cookie", true)]
    [InlineData("authorization", true)]
    [InlineData("PROXY-AUTHORIZATION", true)]
    [InlineData("Accept", false)]
    [InlineData("Accept-Language", false)]
    [InlineData("Referer", false)]
    public void IsPersonal_Header_TellsWhetherItBelongsToOneClient(string header, bool isPersonal)
        => Assert.Equal(isPersonal, HeaderNames.IsPersonal(header));

    private static byte[] Variable(string header) => Encoding.ASCII.GetBytes("HTTP_" + header.ToUpperInvariant().Replace('-', '_'));
}
