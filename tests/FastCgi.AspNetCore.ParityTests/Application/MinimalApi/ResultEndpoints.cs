using System.Runtime.CompilerServices;
using EntityTagHeaderValue = Microsoft.Net.Http.Headers.EntityTagHeaderValue;

namespace FastCgi.AspNetCore.ParityTests.Application.MinimalApi;

/// <summary>A minimal API that answers in every way there is.</summary>
internal static class ResultEndpoints
{
    private static readonly DateTimeOffset s_lastModified = new(2024, 5, 6, 7, 8, 9, TimeSpan.Zero);

    // More than a record, a socket buffer and a buffer of the web servers.
    private static readonly byte[] s_large = [.. Enumerable.Range(0, 300_000).Select(i => (byte)(i * 31))];

    public static void MapResultEndpoints(this IEndpointRouteBuilder app)
    {
        var results = app.MapGroup("/results");
        MapContents(results);
        MapStatuses(results);
        MapStreams(results);
        MapHeaders(results);
    }

    private static void MapContents(RouteGroupBuilder results)
    {
        results.MapMethods("/text", ["GET", "HEAD"], () => "Grüße");
        results.MapGet("/html", () => Results.Content("<p>Hello</p>", "text/html", Encoding.UTF8));
        results.MapGet(
            "/json", () => new { Name = "Ada", Born = new DateOnly(1815, 12, 10), Numbers = (int[])[1, 2, 3] });
        results.MapMethods("/bytes", ["GET", "HEAD"], () => Results.Bytes([0, 255, 1, 254]));
        results.MapMethods("/large", ["GET", "HEAD"], () => Results.Bytes(s_large));
        results.MapMethods("/ranged", ["GET", "HEAD"], () => Results.Bytes(
            s_large,
            "application/x-large",
            "large ü.bin",
            enableRangeProcessing: true,
            s_lastModified,
            new EntityTagHeaderValue("\"large\"")));
        results.MapGet("/nothing", () => { });
    }

    private static void MapStatuses(RouteGroupBuilder results)
    {
        results.MapGet("/status/{code:int}", (int code) => Results.StatusCode(code));
        results.MapGet("/reason", (HttpContext context) =>
        {
            context.Response.StatusCode = 403;
            context.Features.GetRequiredFeature<IHttpResponseFeature>().ReasonPhrase = "Not today";
            return "no";
        });
        results.MapGet("/created", () => Results.Created("/results/text", new { id = 1 }));
        results.MapGet("/no-content", () => Results.NoContent());
        results.MapGet(
            "/redirect",
            (bool permanent, bool keeps) => Results.Redirect("/results/text?from=redirect", permanent, keeps));
        results.MapGet("/absolute-redirect", () => Results.Redirect("https://elsewhere.example/path?q=1#part"));
        results.MapGet(
            "/problem",
            () => Results.Problem(
                "It broke.",
                statusCode: 418,
                title: "Teapot",
                extensions: new Dictionary<string, object?> { ["size"] = 1 }));
        results.MapGet("/not-modified", (HttpResponse response) =>
        {
            response.Headers.ETag = "\"same\"";
            response.StatusCode = 304;
        });
    }

    private static void MapStreams(RouteGroupBuilder results)
    {
        results.MapGet("/events", () => Results.ServerSentEvents(CountAsync(), eventType: "count"));
        results.MapGet("/flushed", async (HttpResponse response) =>
        {
            response.ContentType = "text/plain";
            for (var i = 0; i < 5; i++)
            {
                await response.WriteAsync($"part {i}\n");
                await response.Body.FlushAsync();
            }
        });
        results.MapGet("/unbuffered", async (HttpContext context) =>
        {
            context.Features.GetRequiredFeature<IHttpResponseBodyFeature>().DisableBuffering();
            await context.Response.WriteAsync("unbuffered");
        });
    }

    private static void MapHeaders(RouteGroupBuilder results)
    {
        results.MapGet("/headers", (HttpResponse response) =>
        {
            response.Headers.Append("X-Twice", "one");
            response.Headers.Append("X-Twice", "two");
            response.Headers["X-Empty"] = string.Empty;
            response.Headers["X-Comma"] = "a, b";
            response.Headers["x-lower-case"] = "lower";
            response.Headers.Link = new(["</a>; rel=next", "</b>; rel=prev"]);
            response.Headers.WWWAuthenticate = new(["Basic realm=\"a\"", "Bearer"]);
            return "headers";
        });
        results.MapGet("/cookies", (HttpResponse response) =>
        {
            response.Cookies.Append("plain", "value", new CookieOptions { Path = "/results" });
            response.Cookies.Append(
                "odd",
                "a b;c=d ü",
                new CookieOptions { HttpOnly = true, SameSite = SameSiteMode.Strict, MaxAge = TimeSpan.FromHours(1) });
            response.Cookies.Append(
                "secure",
                "1",
                new CookieOptions { Secure = true, Domain = "example.com", Extensions = { "Partitioned" } });
            response.Cookies.Delete("old");
            return "cookies";
        });
        results.MapGet("/large-header", (HttpResponse response, int size) =>
        {
            response.Headers["X-Large"] = new string('x', size);
            return size.ToString(CultureInfo.InvariantCulture);
        });
        results.MapGet("/many-headers", (HttpResponse response, int count) =>
        {
            for (var i = 0; i < count; i++)
                response.Headers[$"X-Header-{i}"] = $"{i}";
            return count.ToString(CultureInfo.InvariantCulture);
        });
    }

    private static async IAsyncEnumerable<int> CountAsync(
        [EnumeratorCancellation] CancellationToken cancellationToken = default)
    {
        for (var i = 1; i <= 3; i++)
        {
            await Task.Yield();
            cancellationToken.ThrowIfCancellationRequested();
            yield return i;
        }
    }
}
