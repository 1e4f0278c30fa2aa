using Microsoft.AspNetCore.Http.Extensions;

namespace FastCgi.AspNetCore.InMemoryTests.Contract;

/// <summary>The bytes do not depend on the culture's rules for case (tr) or numbers (ar, fa, sv).</summary>
public class CultureTests
{
    [Theory]
    [Contract("H9")]
    [Values("", "en-US", "tr-TR", "ar-SA", "fa-IR", "sv-SE")]
    public async Task Request_InAnyCulture_SameBytes(string culture)
    {
        // A runtime without cultures uses the invariant one for all.
        var before = CultureInfo.CurrentCulture;
        CultureInfo.CurrentCulture = TryGetCulture(culture);
        try
        {
            await using var server = await TestServer.StartAsync(static async context =>
            {
                var headers = context.Request.Headers;
                context.Response.StatusCode = 299;
                context.Response.Headers["X-Title-I"] = headers["if-none-match"].ToString() + headers["X-IIII"];
                var body = Apps.Utf8(
                    $"{context.Request.Method} {context.Request.GetDisplayUrl()} {context.Request.ContentLength:D} "
                    + $"{context.Request.ContentType} {await new StreamReader(context.Request.Body).ReadToEndAsync()}");
                context.Response.ContentLength = body.Length;
                await context.Response.Body.WriteAsync(body);
            });
            var frontEnd = server.Connect();

            frontEnd.Send(
                RecordBytes.Begin(),
                RecordBytes.ParamsStream(1, RecordBytes.RequestParams(
                    "POST", "/i%C4%B0I?I=%C4%B1", ("HTTPS", "ON"), ("HTTP_IF_NONE_MATCH", "\"I\""),
                    ("HTTP_X_IIII", "x"), ("CONTENT_LENGTH", "12"), ("CONTENT_TYPE", "text/plain"))),
                RecordBytes.StdinStream(1, "İI1234567890"u8[..12]));

            var response = await frontEnd.ReadResponseAsync();
            Assert.Equal("POST https://www.example.test/iİI?I=%C4%B1 12 text/plain İI123456789", response.Text);
            Assert.Equal(
                (299, "\"I\"x", $"{response.Body.Length}"),
                (response.Status, response["X-Title-I"], response["Content-Length"]));
        }
        finally
        {
            CultureInfo.CurrentCulture = before;
        }
    }

    private static CultureInfo TryGetCulture(string name)
    {
        try
        {
            return CultureInfo.GetCultureInfo(name);
        }
        catch (CultureNotFoundException)
        {
            return CultureInfo.InvariantCulture;
        }
    }
}
