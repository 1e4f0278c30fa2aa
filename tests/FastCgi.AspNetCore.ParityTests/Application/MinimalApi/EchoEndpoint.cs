using System.Security.Cryptography;

namespace FastCgi.AspNetCore.ParityTests.Application.MinimalApi;

/// <summary>An endpoint that accepts any method and path and describes the request.</summary>
internal static class EchoEndpoint
{
    public static void MapEcho(this IEndpointRouteBuilder app) => app.Map(
        "/echo/{**rest}", async (HttpContext context) =>
        {
            var request = context.Request;
            using var body = new MemoryStream();
            await request.Body.CopyToAsync(body);
            var text = string.Join('\n',
            [
                $"{request.Method} {request.Scheme} {request.Host} {request.PathBase} {request.Path} "
                    + $"{request.QueryString} {request.Protocol}",
                $"from {context.Connection.RemoteIpAddress}",
                .. request.Query.Select(pair => $"{pair.Key}=[{string.Join('|', pair.Value.ToArray())}]"),
                $"body of {body.Length} bytes, {Convert.ToHexString(SHA256.HashData(body.ToArray()))}",
            ]);
            return Results.Text(text);
        });
}
