namespace FastCgi.AspNetCore.ParityTests.Application.MinimalApi;

/// <summary>Endpoints that limit, compress or refuse the body of a request.</summary>
internal static class BodyEndpoints
{
    public static void MapBodyEndpoints(this IEndpointRouteBuilder app)
    {
        app.MapPost("/body/unread", () => "not read");
        app.MapPost("/body/small", ReadAsync).WithMetadata(new RequestSizeLimitAttribute(100));
        app.MapPost("/body/any-size", ReadAsync).WithMetadata(new DisableRequestSizeLimitAttribute());
        app.MapPost("/body/own-limit", async (HttpContext context) =>
        {
            var limit = context.Features.GetRequiredFeature<IHttpMaxRequestBodySizeFeature>();
            limit.MaxRequestBodySize = 50;
            return $"{await ReadAsync(context.Request)} {limit.IsReadOnly}";
        });
        app.MapPost("/body/caught", async (HttpContext context) =>
        {
            context.Features.GetRequiredFeature<IHttpMaxRequestBodySizeFeature>().MaxRequestBodySize = 50;
            try
            {
                return Results.Text(await ReadAsync(context.Request));
            }
            catch (BadHttpRequestException exception)
            {
                return Results.Text($"{exception.StatusCode} {exception.Message}", statusCode: exception.StatusCode);
            }
        });
    }

    private static async Task<string> ReadAsync(HttpRequest request)
    {
        using var body = new MemoryStream();
        await request.Body.CopyToAsync(body);
        return $"{body.Length} bytes";
    }
}
