using Known = Microsoft.Net.Http.Headers.HeaderNames;

namespace FastCgi.AspNetCore.UnitTests.Cgi;

public sealed class HeaderNamesTests
{
    /// <summary>Request headers in ASP.NET Core's <c>HeaderNames</c>, which must have exactly that spelling.</summary>
    public static TheoryData<string> Headers =>
    [
        Known.Accept, Known.AcceptCharset, Known.AcceptEncoding, Known.AcceptLanguage,
        Known.AccessControlRequestHeaders,
        Known.AccessControlRequestMethod, Known.Authorization, Known.CacheControl, Known.Connection,
        Known.ContentEncoding, Known.ContentMD5,
        Known.Cookie, Known.Date, Known.DNT, Known.ETag, Known.Expect, Known.From, Known.Host, Known.IfMatch,
        Known.IfModifiedSince,
        Known.IfNoneMatch, Known.IfRange, Known.IfUnmodifiedSince, Known.KeepAlive, Known.MaxForwards, Known.Origin,
        Known.Pragma,
        Known.ProxyAuthorization, Known.Range, Known.Referer, Known.RequestId, Known.SecWebSocketKey, Known.TE,
        Known.TraceParent,
        Known.TraceState, Known.TransferEncoding, Known.Upgrade, Known.UpgradeInsecureRequests, Known.UserAgent,
        Known.Via,
        Known.XRequestedWith, "X-Forwarded-For", "X-Forwarded-Proto", "X-Real-IP", "Forwarded",
    ];

    [Theory]
    [MemberData(nameof(Headers))]
    public void TryGetHeaderName_KnownHeader_HasItsUsualSpelling(string header)
    {
        var variable = Variable(header);

        Assert.True(HeaderNames.TryGetHeaderName(variable, out var name));
        Assert.Equal(header, name);
        Assert.True(HeaderNames.IsVariableOf(variable, header));
        Assert.False(HeaderNames.IsIgnored(header));
    }

    /// <summary>A header missing from the table is spelled by the general rule; no other error exists.</summary>
    [Fact]
    [Contract("H9")]
    public void TryGetHeaderName_EachKnownHeader_EqualsItIgnoringCase()
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
    [Contract("T18")]
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
    public void TryGetHeaderName_Variable_IsItsHeader(string variable, string header)
    {
        Assert.True(HeaderNames.TryGetHeaderName(Encoding.UTF8.GetBytes(variable), out var name));
        Assert.Equal(header, name);
    }

    [Theory]
    [InlineData(
        "HTTP_ı", "HTTP_X Y", "HTTP_X:", "HTTP_X\n", "HTTP_X\0", "HTTP_\xe9", "HTTP_", "HTTP", "HTTPS", "http_x_foo")]
    [InlineData("REDIRECT_HTTP_AUTHORIZATION", "REQUEST_METHOD", "SCRIPT_NAME", "", "HTTP_PROXY", "HTTP_proxy")]
    [InlineData("HTTP_CONTENT_TYPE", "HTTP_CONTENT_LENGTH", "HTTP_CONTENT-LENGTH", "HTTP_Content-Type")]
    public void TryGetHeaderName_Variable_IsNoHeader(params string[] variables)
        => Assert.All(variables, static variable => Assert.False(HeaderNames.TryGetHeaderName(
            Encoding.UTF8.GetBytes(variable), out _)));

    [Theory]
    [InlineData("HTTP_X_FOO", true, "X-Foo", "x-fOO")]
    [InlineData("HTTP_X_FOO", false, "X_Foo", "XFoo", "X-Fo", "X-Fooo", "Y-Foo")]
    [InlineData("HTTP_x_foo", true, "X-FOO")]
    [InlineData("HTTP_X-FOO", true, "X-Foo")]
    [InlineData("HTTP_X.DOT", true, "x.Dot")]
    [InlineData("http_x_foo", false, "X-Foo")]
    [InlineData("SSL__X_FOO", false, "X-Foo")]
    [InlineData("HTTP_X Y", false, "X Y")]
    [InlineData("HTTP_X@", false, "X`")]
    [InlineData("HTTP_X^", false, "X~")]
    [InlineData("HTTP_I", false, "ı", "\u0130")]
    [InlineData("HTTP_K", false, "\u212a")]
    [InlineData("HTTP_\xe9", false, "\xe9")]
    public void IsVariableOf_NamesByTheSameRule(string variable, bool isIt, params string[] headers)
        => Assert.All(
            headers,
            header => Assert.Equal(isIt, HeaderNames.IsVariableOf(Encoding.Latin1.GetBytes(variable), header)));

    [Theory]
    [InlineData(true, "Proxy", "PROXY", "content-type", "Content-Length")]
    [InlineData(false, "Proxy-Authorization", "Content-Language", "Hosts")]
    public void IsIgnored_Header_ReportsWhetherItComesFromNoVariable(bool isIgnored, params string[] headers)
        => Assert.All(headers, header => Assert.Equal(isIgnored, HeaderNames.IsIgnored(header)));

    [Theory]
    [InlineData(true, "Cookie", "authorization", "PROXY-AUTHORIZATION", "X-Forwarded-For", "X-Real-IP")]
    [InlineData(false, "Accept", "Accept-Language", "Referer")]
    public void IsUncached_Header_IfItsValuesAreSecretOrHardlyRepeat(bool isUncached, params string[] headers)
        => Assert.All(headers, header =>
        {
            Assert.Equal(isUncached, HeaderNames.IsUncached(header));
            Assert.Equal(isUncached, HeaderNames.IsUncachedVariable(Variable(header)));
        });

    private static byte[] Variable(string header)
        => Encoding.ASCII.GetBytes("HTTP_" + header.ToUpperInvariant().Replace('-', '_'));
}
