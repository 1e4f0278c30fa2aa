namespace FastCgi.AspNetCore.ParityTests.Application.Middleware;

internal static class Files
{
    public static void UseFiles(this IApplicationBuilder app)
        => app.UseStaticFiles(new StaticFileOptions { RequestPath = "/files" });

    public static void MapFiles(this IEndpointRouteBuilder app)
    {
        app.MapStaticAssets();
        app.MapGet("/download", (IWebHostEnvironment environment) =>
        {
            var file = environment.WebRootFileProvider.GetFileInfo("numbers.txt");
            return Results.File(file.PhysicalPath!, "text/plain", "numbers of mine.txt", enableRangeProcessing: true);
        });
        app.MapGet("/send-file", (HttpResponse response, IWebHostEnvironment environment, long offset, long count)
            => response.SendFileAsync(environment.WebRootFileProvider.GetFileInfo("numbers.txt"), offset, count));
    }
}
