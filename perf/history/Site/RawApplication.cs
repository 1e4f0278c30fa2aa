using System.Text;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Http.Features;

namespace History.Site;

/// <summary>
/// A handler below ASP.NET Core: the server calls it with features; there is no HttpContext, no hosting, no routing.
/// </summary>
internal sealed class RawApplication : IHttpApplication<IFeatureCollection>
{
    private static readonly byte[] s_hello = Encoding.ASCII.GetBytes(Pages.Hello);

    public IFeatureCollection CreateContext(IFeatureCollection contextFeatures) => contextFeatures;

    public Task ProcessRequestAsync(IFeatureCollection context)
    {
        var request = context.GetRequiredFeature<IHttpRequestFeature>();
        return request.Path switch
        {
            "/hold" => Pages.HoldAsync(),
            "/figures" => WriteAsync(
                context,
                Encoding.ASCII.GetBytes(
                    Pages.ReadFigures(request.QueryString.Contains("true", StringComparison.Ordinal)))),
            _ => WriteAsync(context, s_hello),
        };
    }

    public void DisposeContext(IFeatureCollection context, Exception? exception)
    {
    }

    private static async Task WriteAsync(IFeatureCollection context, byte[] body)
    {
        var headers = context.GetRequiredFeature<IHttpResponseFeature>().Headers;
        headers.ContentType = "text/plain";
        headers.ContentLength = body.Length;
        await context.GetRequiredFeature<IHttpResponseBodyFeature>().Writer.WriteAsync(body);
    }
}
