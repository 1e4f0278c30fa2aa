using System.Globalization;
using FastCgi.AspNetCore.Cgi;
using FastCgi.AspNetCore.Protocol;
using FastCgi.AspNetCore.Requests;
using FastCgi.AspNetCore.UnitTests.Cgi;

namespace FastCgi.AspNetCore.UnitTests.Requests;

public sealed class HeaderIndexTests
{
    [Theory]
    [InlineData("HTTP_HOST", "host")]
    [InlineData("HTTP_host", "HOST")]
    [InlineData("HTTP_X_FORWARDED_FOR", "X-Forwarded-For")]
    [InlineData("HTTP_X-FORWARDED_FOR", "x-forwarded-for")]
    [InlineData("HTTP_A", "a")]
    [InlineData("HTTP__", "-")]
    [InlineData("CONTENT_TYPE", "content-type")]
    [InlineData("REDIRECT_HTTP_AUTHORIZATION", "REDIRECT_HTTP_AUTHORIZATION")]
    [InlineData("redirect_http_authorization", "REDIRECT_HTTP_AUTHORIZATION")]
    public void Hash_OfAVariable_IsThatOfItsHeader(string variable, string header)
    {
        Assert.True(HeaderNames.TryHashVariable(System.Text.Encoding.ASCII.GetBytes(variable), out var hash));
        Assert.Equal(HeaderNames.Hash(header), hash);
    }

    [Theory]
    [InlineData("")]
    [InlineData("HTTP_")]
    [InlineData("HTTPS")]
    [InlineData("REQUEST_METHOD")]
    [InlineData("content_type")]
    [InlineData("REDIRECT_HTTP_HOST")]
    public void Hash_OfAVariableThatIsNoHeader_IsNone(string variable)
        => Assert.False(HeaderNames.TryHashVariable(System.Text.Encoding.ASCII.GetBytes(variable), out _));

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(63)]
    [InlineData(64)]
    [InlineData(65)]
    [InlineData(1_000)]
    public void Find_AnyNumberOfHeaders_EachAtItsOffset(int count)
    {
        var bytes = Make(count).Bytes;
        var index = new HeaderIndex();

        index.Build(bytes);

        for (var i = 0; i < count; i++)
            Assert.Equal([$"{i}"], Find(ref index, bytes, $"X-Header-{i}", out _));
        Assert.Empty(Find(ref index, bytes, "X-Absent", out _));
        index.Clear();
    }

    [Fact]
    public void Find_RepeatedHeader_EachInTurn()
    {
        var bytes = CgiParameters.Get(("HTTP_X_A", "1"), ("HTTP_X_B", "2"), ("HTTP_X_A", "3")).Bytes;
        var index = new HeaderIndex();

        index.Build(bytes);
        Assert.Equal(["1", "3"], Find(ref index, bytes, "X-A", out _));
        index.Clear();
    }

    /// <summary>What middleware asks for and few clients send must not cost a look at every param.</summary>
    [Fact]
    public void Find_HeadersThatAreAbsent_ComparesHardlyAnyName()
    {
        var bytes = Make(60).Bytes;
        var index = new HeaderIndex();
        index.Build(bytes);
        var compared = 0;

        for (var i = 0; i < 1_000; i++)
        {
            Assert.Empty(Find(ref index, bytes, $"X-Absent-Number-{i}", out var candidates));
            compared += candidates;
        }

        Assert.InRange(compared, 0, 100);
        index.Clear();
    }

    [Fact]
    public void Find_ParamsOfManyMegabytes_OffsetsAreWhole()
    {
        var parameters = CgiParameters.Get(("HTTP_X_FIRST", "1"), ("LARGE", new string('x', 40_000_000)), ("HTTP_X_LAST", "2"));
        var bytes = parameters.Bytes;
        var index = new HeaderIndex();
        index.Build(bytes);

        Assert.Equal(["1"], Find(ref index, bytes, "X-First", out _));
        Assert.Equal(["2"], Find(ref index, bytes, "X-Last", out _));
        index.Clear();
    }

    [Fact]
    public void Build_AfterClear_IsOfTheNewParams()
    {
        var (first, second) = (CgiParameters.Get(("HTTP_A", "1")).Bytes, CgiParameters.Get(("HTTP_B", "2")).Bytes);
        var index = new HeaderIndex();
        index.Build(first);
        index.Clear();
        index.Build(second);

        Assert.Empty(Find(ref index, second, "A", out _));
        Assert.Equal(["2"], Find(ref index, second, "B", out _));
        index.Clear();
        index.Clear();
    }

    /// <summary>Someone kept the headers of a request that is over while the object serves others: refused, or answered with whole values.</summary>
    [Fact]
    public async Task Headers_AskedWhileTheObjectServesOtherRequests_RefusedOrWhole()
    {
        var mapping = new CgiMapping();
        var parameters = new RequestParameters();
        var isOver = false;
        var asking = Task.Run(() =>
        {
            while (!Volatile.Read(ref isOver))
            {
                try
                {
                    Assert.Contains(parameters.GetHeader("X-Header-7", mapping).ToString(), (string[])["", "7"]);
                    Assert.Contains(parameters.GetVariable("HTTP_X_HEADER_3", mapping), (string?[])[null, "3"]);
                }
                catch (ObjectDisposedException)
                {
                    // Between two requests.
                }
            }
        });

        var bytes = Make(40).Bytes;
        for (var i = 0; i < 20_000 && !asking.IsCompleted; i++)
        {
            var cut = i % bytes.Length;
            parameters.Append(bytes.AsSpan(0, cut), isWhole: true);
            parameters.Append(bytes.AsSpan(cut), isWhole: false);
            parameters.Open();
            Assert.Equal("7", parameters.GetHeader("X-Header-7", mapping));
            parameters.End();
        }

        Volatile.Write(ref isOver, true);
        await asking;
    }

    private static CgiParameters Make(int count)
    {
        var parameters = CgiParameters.Get(("SERVER_NAME", "s"), ("CONTENT_TYPE", "a/b"));
        for (var i = 0; i < count; i++)
            parameters.Add($"HTTP_X_HEADER_{i}", i.ToString(CultureInfo.InvariantCulture));
        return parameters;
    }

    private static List<string> Find(ref HeaderIndex index, byte[] bytes, string name, out int candidates)
    {
        var values = new List<string>();
        candidates = 0;
        for (var position = 0; index.TryFind(HeaderNames.Hash(name), ref position, out var offset); candidates++)
        {
            Assert.True(new NameValuePairReader(bytes.AsSpan(offset)).TryRead(out var variable, out var value));
            if (HeaderNames.IsVariableOf(variable, name))
                values.Add(System.Text.Encoding.ASCII.GetString(value));
        }

        return values;
    }
}
