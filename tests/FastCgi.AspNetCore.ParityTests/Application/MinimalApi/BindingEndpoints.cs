using System.Buffers;
using System.ComponentModel.DataAnnotations;
using System.Globalization;
using System.IO.Pipelines;
using System.Security.Claims;
using System.Security.Cryptography;
using Microsoft.AspNetCore.Http.HttpResults;
using Microsoft.AspNetCore.Mvc;

namespace FastCgi.AspNetCore.ParityTests.Application.MinimalApi;

/// <summary>A minimal API whose handlers take what they need from every source there is.</summary>
internal static class BindingEndpoints
{
    public static void AddBindingEndpoints(this IServiceCollection services)
    {
        services.AddValidation();
        services.AddSingleton(new Greeting("Good day"));
        services.AddKeyedSingleton("short", new Greeting("Hi"));
    }

    public static void MapBindingEndpoints(this IEndpointRouteBuilder app)
    {
        var api = app.MapGroup("/bind").DisableAntiforgery();
        MapSimpleSources(api);
        MapBodies(api);
        MapForms(api);
        MapGroups(app);
    }

    private static void MapSimpleSources(RouteGroupBuilder api)
    {
        api.MapGet("/route/{id:int}/{name?}", (int id, string? name) => $"{id} {name}");
        api.MapGet("/rest/{**rest}", (string? rest) => $"[{rest}]");
        api.MapGet("/query", (string? text, int number, int[] numbers, string[] texts, DateTimeOffset? when, Guid? id, bool flag, double? amount, HttpRequest request)
            => Results.Ok(new { text, number, numbers, texts, when, id, flag, amount, raw = request.QueryString.Value }));
        api.MapGet("/header", ([FromHeader(Name = "X-Number")] int number, [FromHeader(Name = "X-Text")] string[] texts) => Results.Ok(new { number, texts }));
        api.MapGet("/cookies", (HttpRequest request) => request.Cookies.OrderBy(cookie => cookie.Key, StringComparer.Ordinal));
        api.MapGet("/services", (Greeting greeting, [FromKeyedServices("short")] Greeting brief) => $"{greeting.Text}, {brief.Text}");
        api.MapGet("/parameters/{id}", ([AsParameters] Search search) => Results.Ok(new { search.Id, search.Text, search.Agent, search.Greeting.Text.Length }));
        api.MapGet("/parsed/{point}", (Point point) => point);
        api.MapGet("/bound", (Page page) => page);
        api.MapGet("/context", (HttpContext context, HttpRequest request, HttpResponse response, ClaimsPrincipal user, CancellationToken aborted)
            => $"{context.Request == request} {context.Response == response} {user.Identity?.IsAuthenticated} {aborted == context.RequestAborted} {aborted.CanBeCanceled}");
    }

    private static void MapBodies(RouteGroupBuilder api)
    {
        api.MapMethods("/json", ["POST", "PUT", "PATCH", "DELETE"], ([FromBody] Order order) => order with { Count = order.Count + 1 });
        api.MapPost("/json-optional", (Order? order) => order is null ? "no order" : $"{order}");
        api.MapPost("/validated", (ValidatedOrder order) => order);
        api.MapPost("/stream", async (Stream body) => Convert.ToHexString(await SHA256.HashDataAsync(body)));
        api.MapPost("/pipe", async (PipeReader body) =>
        {
            long length = 0;
            while (true)
            {
                var result = await body.ReadAsync();
                length += result.Buffer.Length;
                body.AdvanceTo(result.Buffer.End);
                if (result.IsCompleted)
                    return length.ToString(CultureInfo.InvariantCulture);
            }
        });
        api.MapPost("/bytes", async (HttpRequest request) =>
        {
            // All of it at once, after it has been looked at and not consumed.
            while (true)
            {
                var result = await request.BodyReader.ReadAsync();
                request.BodyReader.AdvanceTo(result.Buffer.Start, result.Buffer.End);
                if (result.IsCompleted)
                    return Results.Bytes(result.Buffer.ToArray(), "application/octet-stream");
            }
        });
        api.MapPost("/text", async (HttpRequest request) => await new StreamReader(request.Body).ReadToEndAsync());
        api.MapPost("/twice", async (HttpRequest request) =>
        {
            request.EnableBuffering();
            var first = await new StreamReader(request.Body).ReadToEndAsync();
            request.Body.Position = 0;
            return first == await new StreamReader(request.Body).ReadToEndAsync();
        });
        api.MapPost("/synchronous", (HttpRequest request) => new StreamReader(request.Body).ReadToEnd());
        api.MapPost("/unread", () => "not read");
    }

    private static void MapForms(RouteGroupBuilder api)
    {
        api.MapPost("/form", ([FromForm] string name, [FromForm] int count, [FromForm] int[] tags) => Results.Ok(new { name, count, tags }));
        api.MapPost("/form-object", ([FromForm] Order order) => order);
        api.MapPost("/form-collection", (IFormCollection form) => form.OrderBy(field => field.Key, StringComparer.Ordinal).Select(field => $"{field.Key}={field.Value}"));
        api.MapPost("/file", async (IFormFile file) => Results.Ok(new { file.Name, file.FileName, file.ContentType, file.Length, hash = await HashAsync(file) }));
        api.MapPost("/files", (IFormFileCollection files, [FromForm] string? note)
            => Results.Ok(new { note, files = files.Select(file => new { file.Name, file.FileName, file.Length }) }));
    }

    private static void MapGroups(IEndpointRouteBuilder app)
    {
        var group = app.MapGroup("/group/{tenant}").AddEndpointFilter(async (context, next) =>
        {
            context.HttpContext.Response.Headers["X-Tenant"] = context.GetArgument<string>(0);
            return context.GetArgument<string>(0) == "nobody" ? TypedResults.NotFound("no such tenant") : await next(context);
        });
        group.MapGet("/", (string tenant) => $"the tenant {tenant}");
        group.MapGroup("/orders").MapGet("/{id:int:min(1)}", Results<Ok<int>, NotFound> (string tenant, int id) => id > 10 ? TypedResults.NotFound() : TypedResults.Ok(id))
            .AddEndpointFilter(async (context, next) => await next(context) is Results<Ok<int>, NotFound> { Result: Ok<int> ok } ? $"filtered {ok.Value}" : "none");
    }

    private static async Task<string> HashAsync(IFormFile file)
    {
        await using var content = file.OpenReadStream();
        return Convert.ToHexString(await SHA256.HashDataAsync(content));
    }

    internal sealed record Greeting(string Text);

    internal sealed record Order(string Name, int Count, decimal Price, DateTimeOffset When);

    internal sealed record Search(string Id, [FromQuery(Name = "q")] string Text, [FromHeader(Name = "User-Agent")] string? Agent, Greeting Greeting);

    internal sealed record Point(int X, int Y)
    {
        public static bool TryParse(string text, out Point? point)
        {
            var parts = text.Split(',');
            point = parts.Length == 2
                && int.TryParse(parts[0], CultureInfo.InvariantCulture, out var x)
                && int.TryParse(parts[1], CultureInfo.InvariantCulture, out var y)
                ? new Point(x, y)
                : null;
            return point is not null;
        }
    }

    internal sealed record Page(int Number, string Address)
    {
        public static ValueTask<Page?> BindAsync(HttpContext context)
            => ValueTask.FromResult(int.TryParse(context.Request.Query["page"], CultureInfo.InvariantCulture, out var number)
                ? new Page(number, $"{context.Connection.RemoteIpAddress}")
                : null);
    }
}

/// <summary>An order whose values must be right.</summary>
public sealed class ValidatedOrder
{
    [Required, StringLength(10)]
    public string? Name { get; set; }

    [Range(1, 5)]
    public int Count { get; set; }
}
