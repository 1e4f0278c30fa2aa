namespace FastCgi.AspNetCore.InMemoryTests.Contract;

/// <summary>The header dictionaries, as applications use them.</summary>
public class HeaderTests
{
    private static readonly TestRequest s_post = new("POST")
    {
        Body = "abc"u8.ToArray(),
        Headers =
        [
            ("Accept", "text/html, */*;q=0.1"), ("Accept-Language", "de"), ("Cookie", "a=1; b=2"), ("DNT", "1"),
            ("ETag", "\"x\""), ("If-None-Match", "\"a\", \"b\""),
            ("Sec-WebSocket-Key", "k"), ("TE", "trailers"), ("X-Twice", "1"), ("X-Twice", "2"), ("X-Empty", ""),
            ("X-Own-Name", "value"), ("Authorization", "Basic eDp5"),
        ],
    };

    [Theory]
    [Contract("H9", "H11")]
    [InlineData("X-Name", "value")]
    [InlineData("X-Name", "tab\there")]
    [InlineData("X-Name", "carriage\rreturn")]
    [InlineData("X-Name", "line\nbreak")]
    [InlineData("X-Name", "line\r\nX-Injected: 1")]
    [InlineData("X-Name", "null\0")]
    [InlineData("X-Name", "delete\u007f")]
    [InlineData("X-Name", "grün")]
    [InlineData("X-Name", "€")]
    [InlineData("X-Name", "")]
    [InlineData("X Name", "value")]
    [InlineData("X:Name", "value")]
    [InlineData("Größe", "value")]
    [InlineData("Location", "/a b/\u00e4")]
    [InlineData("ETag", "\"\u0001\"")]
    public async Task ResponseHeader_AnyNameAndValue_TakenOrRefusedAsKestrel(string name, string value)
    {
        var answer = await Parity.AssertAsync((context, seen) =>
        {
            var headers = context.Response.Headers;
            seen.Try("set", () => headers[name] = value);
            seen.Try("append", () => headers.Append(name, value));
            seen.Try("several", () => headers[name] = new StringValues(["one", value]));
            seen.Note("count", headers.Count);
        });

        Assert.Null(answer.Outcome["X-Injected"]);
    }

    [Theory]
    [Contract("H12")]
    [Values("12", "0", "-1", "+1", "1 ", "abc", "99999999999999999999")]
    public async Task ContentLength_SetAsText_NumberOrRefused(string value) => await Parity.AssertAsync(
        (context, seen) =>
        {
            var headers = context.Response.Headers;
            seen.Try("set", () => headers["content-length"] = value);
            seen.Note("number", headers.ContentLength);
            seen.Note("text", headers["Content-Length"]);
            headers.Remove("CONTENT-LENGTH");
            seen.Note("number", headers.ContentLength);
            seen.Try("negative", () => headers.ContentLength = -1);
            seen.Try("several", () => headers["Content-Length"] = new StringValues(["1", "1"]));
        });

    [Theory, Values(true, false)]
    [Contract("H12")]
    public async Task Headers_UsedAsADictionary_AsKestrel(bool isRequest) => await Parity.AssertAsync(
        (context, seen) =>
        {
            // A front-end does not pass on hop-by-hop headers.
            context.Request.Headers.Remove("Connection");
            foreach (var (name, value) in context.Request.Headers.OrderBy(
                static header => header.Key, StringComparer.Ordinal))
                seen.Note(name, value);
            Use(isRequest ? context.Request.Headers : context.Response.Headers, seen);
        },
        s_post);

    [Fact]
    [Contract("H12")]
    public async Task RequestContentLength_SetToNoNumber_AsKestrel() => await Parity.AssertAsync(
        static (context, seen) =>
        {
            var headers = context.Request.Headers;
            seen.Note("length", headers.ContentLength);
            seen.Try("set", () => headers.ContentLength = 7);
            seen.Note("text", headers["Content-Length"]);
            seen.Try("text", () => headers["Content-Length"] = "8");
            seen.Note("length", context.Request.ContentLength);
            seen.Try("several", () => headers["Content-Length"] = new StringValues(["1", "1"]));
        },
        s_post);

    private static void Use(IHeaderDictionary headers, Observations seen)
    {
        IDictionary<string, StringValues> dictionary = headers;
        seen.Note("missing", headers["X-Missing"].Count);
        seen.Try("missing", () => _ = dictionary["X-Missing"]);
        seen.Note("try missing", headers.TryGetValue("X-Missing", out var missing) || missing.Count > 0);
        seen.Try("add", () => dictionary.Add("X-Added", "1"));
        seen.Try("add again", () => dictionary.Add("x-added", "2"));
        seen.Note("contains", $"{headers.ContainsKey("X-ADDED")} {headers.Contains(new("x-added", "1"))} "
            + $"{headers.Contains(new("X-Added", "2"))}");
        headers.Append("X-Added", "3");
        headers.AppendCommaSeparatedValues("X-Added", "4", "5,6");
        seen.Note("added", string.Join('|', headers["X-Added"].ToArray()));
        seen.Note("separated", string.Join('|', headers.GetCommaSeparatedValues("X-Added")));
        seen.Note("remove other value", headers.Remove(new KeyValuePair<string, StringValues>("X-Added", "1")));
        seen.Note("remove", $"{headers.Remove("X-Added")} {headers.Remove("X-Added")}");
        headers["Cache-Control"] = "no-store";
        seen.Note("known", headers.CacheControl);
        headers["cache-control"] = StringValues.Empty;
        seen.Note("set empty", headers.ContainsKey("Cache-Control"));
        headers["X-Null"] = (string?)null;
        seen.Note("set null", headers.ContainsKey("X-Null"));
        var entries = new KeyValuePair<string, StringValues>[headers.Count + 1];
        headers.CopyTo(entries, 1);
        seen.Note("copied", entries[1..].All(entry => headers[entry.Key] == entry.Value));
        seen.Note("keys", headers.Keys.Count == headers.Count && headers.Values.Count == headers.Count);
        seen.Note("read-only", headers.IsReadOnly);
        headers.Clear();
        seen.Note("cleared", headers.Count);
    }
}
