using FastCgi.AspNetCore.UnitTests.Cgi;

namespace FastCgi.AspNetCore.UnitTests.Requests;

/// <summary>
/// Headers that two threads use at once. Even an application of one thread at a time does so: a minimal API sets the
/// content type when a handler that returns <c>Task&lt;string&gt;</c> awaits for the first time, while what follows the
/// await runs elsewhere.
/// </summary>
public sealed class HeaderCollectionLockTests
{
    private const int Changes = 20_000;

    private static readonly TimeSpan s_patience = TimeSpan.FromSeconds(30);

    public static TheoryData<string, bool> Uses
        => Rows.Cross(UsesOf(new ResponseHeaders(new RequestLock())).Keys, true, false);

    [Theory]
    [MemberData(nameof(Uses))]
    public void Use_AnotherThreadHasTheLock_Waits(string use, bool ofRequest)
    {
        var headersOfRequest = RequestHeadersBuilder.Build(
            CgiParameters.Get(("HTTP_X_ONE", "1")).Bytes, out var request);
        var requestLock = request.Response.Output;
        HeaderCollection headers = ofRequest ? headersOfRequest : new ResponseHeaders(requestLock) { ["X-One"] = "1" };
        Assert.Single(headers);
        var user = new Thread(() => UsesOf(headers)[use]()) { IsBackground = true };

        using (requestLock.EnterLock())
        {
            user.Start();
            Assert.True(
                SpinWait.SpinUntil(() => user.ThreadState.HasFlag(ThreadState.WaitSleepJoin), s_patience),
                "It did not wait.");
        }

        Assert.True(user.Join(s_patience));
    }

    [Fact]
    public void List_AnotherThreadChangesThem_EachEntryIsWhole()
    {
        var headers = new ResponseHeaders(new RequestLock());
        var other = Task.Factory.StartNew(
            () =>
            {
                for (var i = 0; i < Changes; i++)
                {
                    headers[$"X-{i % 40}"] = "v";
                    headers.Remove($"X-{(i + 20) % 40}");
                }
            },
            CancellationToken.None,
            TaskCreationOptions.LongRunning,
            TaskScheduler.Default);

        while (!other.IsCompleted)
        {
            Assert.All(headers, static header => Assert.Equal("v", header.Value));
            Assert.All(headers.Keys, static name => Assert.StartsWith("X-", name, StringComparison.Ordinal));
        }

        Assert.True(other.IsCompletedSuccessfully);
    }

    private static Dictionary<string, Action> UsesOf(HeaderCollection headers)
    {
        IHeaderDictionary dictionary = headers;
        KeyValuePair<string, StringValues> one = new("X-One", "1");
        return new()
        {
            ["set"] = () => headers["X-Two"] = "2",
            ["set nothing"] = () => headers["X-One"] = StringValues.Empty,
            ["get"] = () => _ = headers["X-One"],
            ["get strictly"] = () => _ = ((IDictionary<string, StringValues>)headers)["X-One"],
            ["set length"] = () => headers.ContentLength = 5,
            ["set no length"] = () => headers.ContentLength = null,
            ["get length"] = () => _ = headers.ContentLength,
            ["add"] = () => headers.Add("X-Two", "2"),
            ["add pair"] = () => headers.Add(new KeyValuePair<string, StringValues>("X-Two", "2")),
            ["append"] = () => dictionary.Append("X-One", "2"),
            ["remove"] = () => headers.Remove("X-One"),
            ["remove pair"] = () => headers.Remove(one),
            ["clear"] = headers.Clear,
            ["contains"] = () => headers.ContainsKey("X-One"),
            ["contains pair"] = () => headers.Contains(one),
            ["count"] = () => _ = headers.Count,
            ["keys"] = () => _ = headers.Keys,
            ["values"] = () => _ = headers.Values,
            ["copy"] = () => headers.CopyTo(new KeyValuePair<string, StringValues>[2], 0),
            ["list"] = () => _ = headers.First(),
        };
    }
}
