using System.Collections.Concurrent;

var builder = WebApplication.CreateBuilder(args);
builder.WebHost.UseFastCgi(); // The one line that differs from the Kestrel version. The tests of the application do not see it.
builder.Services.AddSingleton(TimeProvider.System);
builder.Services.AddSingleton<ConcurrentBag<string>>();
var app = builder.Build();

app.MapGet("/greeting", (TimeProvider time) => time.GetUtcNow().Hour < 12 ? "Good morning" : "Good day");

app.MapGet("/notes", (ConcurrentBag<string> notes) => notes.Order());

app.MapPost("/notes", (Note note, ConcurrentBag<string> notes) =>
{
    if (string.IsNullOrWhiteSpace(note.Text))
        return Results.ValidationProblem(new Dictionary<string, string[]> { ["text"] = ["A note needs a text."] });

    notes.Add(note.Text);
    return Results.Created("/notes", note);
});

app.MapGet("/client", (HttpContext context) => $"{context.Request.Scheme} {context.Connection.RemoteIpAddress}");

app.Run();

internal sealed record Note(string Text);
