using System.Text.RegularExpressions;

var builder = WebApplication.CreateBuilder(args);
var folder = Path.GetFullPath(builder.Configuration["Folder"] ?? "uploads");
Directory.CreateDirectory(folder);

// nginx sends the files in the folder: the application returns a file's name instead of its bytes. See nginx.conf.
builder.WebHost.UseFastCgi(options =>
{
    options.SendFile.AddXAccelRedirect(folder, "/protected/");
    options.Limits.MaxRequestBodySize = 1_000_000_000;
});
var app = builder.Build();

// The body is written as it arrives, and never held in memory.
app.MapPut("/files/{name}", async (string name, HttpRequest request, CancellationToken aborted) =>
{
    if (!Names.Allowed().IsMatch(name))
        return Results.BadRequest("A name has letters, digits and dots.\n");

    await using var file = File.Create(Path.Combine(folder, name));
    await request.Body.CopyToAsync(file, aborted);
    return Results.Text($"{name}: {file.Length} bytes\n");
});

// The application authorizes the request, and Results.File needs no change. nginx handles range requests.
app.MapGet("/files/{name}", (string name, HttpRequest request) =>
{
    if (request.Query["key"] != "secret")
        return Results.Text("You need the key.\n", statusCode: StatusCodes.Status403Forbidden);

    var path = Path.Combine(folder, name);
    return Names.Allowed().IsMatch(name) && File.Exists(path)
        ? Results.File(path, "application/octet-stream")
        : Results.NotFound();
});

app.Run();

internal static partial class Names
{
    [GeneratedRegex(@"\A\w[\w.]*\z")]
    public static partial Regex Allowed();
}
