namespace FastCgi.AspNetCore.UnitTests.Requests;

/// <summary>
/// How a response ends: by itself, by the application while that goes on, or as an error. The rest is asked of Kestrel
/// too.
/// </summary>
public sealed class ResponseEndingTests
{
    private readonly ResponseRig _rig = new();

    private FastCgiResponse Response => _rig.Response;

    /// <summary>In the headers too, for code that reads them later.</summary>
    [Theory]
    [InlineData("GET", 200, "", 0L)]
    [InlineData("GET", 205, "", 0L)]
    [InlineData("GET", 204, "", null)]
    [InlineData("GET", 304, "", null)]
    [InlineData("HEAD", 200, "", null)]
    [InlineData("GET", 200, "abc", null)]
    public void Finish_LengthIsNotNamed_ItIsTheServers(string method, int status, string text, long? length)
    {
        _rig.Begin(method: method);
        Response.StatusCode = status;
        if (text.Length > 0)
            _rig.Put(text);

        Response.Finish();

        Assert.Equal(length, Response.Headers.ContentLength);
        Assert.Equal(text, _rig.Body);
        var sent = length ?? (text.Length > 0 ? text.Length : null);
        Assert.Equal(
            sent is null ? "Status" : $"Content-Length: {sent}",
            _rig.Stdout.Split("\r\n")[0][..(sent is null ? 6 : 17)]);
    }

    [Theory]
    [InlineData("GET", 405, "", "Allow: OPTIONS\r\nContent-Length: 0\r\n")]
    [InlineData("GET", 503, "", "Retry-After: 1\r\nContent-Length: 0\r\n")]
    [InlineData("GET", 500, "", "Content-Length: 0\r\n")]
    [InlineData("GET", 400, "no\n", "Content-Type: text/plain; charset=utf-8\r\nContent-Length: 3\r\n")]
    [InlineData("HEAD", 400, "no\n", "Content-Type: text/plain; charset=utf-8\r\nContent-Length: 3\r\n")]
    public void TryAnswerForApplication_EachStatus_HasItsHeaderAndBodyAndNothingOfTheApplication(
        string method, int status, string text, string headers)
    {
        _rig.Options.ResponseHeaderEncodingSelector = static _ => Encoding.UTF8;
        _rig.Begin(method: method);
        Response.Headers["X-Gone"] = "é";
        Response.ReasonPhrase = "Mine";
        Response.OnStarting(static _ => Task.CompletedTask, this);
        Response.DisableBuffering();
        _rig.Put("gone");

        Assert.True(Response.TryAnswerForApplication(status, text.Length == 0 ? null : text));

        Assert.Equal((false, 0), (Response.HasOnStarting, _rig.RentedCount));
        Assert.True(text.Length > 0 || Response.BytesWritten == 0);
        Assert.StartsWith($"{headers}Status: {status} ", _rig.Stdout, StringComparison.Ordinal);
        Assert.DoesNotContain("Mine", _rig.Stdout, StringComparison.Ordinal);
        Assert.Equal(method == "HEAD" ? "" : text, _rig.Body);
    }
}
