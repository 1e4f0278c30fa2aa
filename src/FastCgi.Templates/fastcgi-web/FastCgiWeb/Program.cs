var builder = WebApplication.CreateBuilder(args);
builder.WebHost.UseFastCgi();
builder.Services.AddHealthChecks();

var app = builder.Build();

app.MapGet("/", () => "Hello World!");
app.MapHealthChecks("/health");

app.Run();
