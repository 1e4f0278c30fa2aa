var builder = WebApplication.CreateBuilder(args);
builder.WebHost.UseFastCgi(); // The one line that differs from the Kestrel version.
builder.Services.AddRazorPages();
var app = builder.Build();

app.MapRazorPages();
app.Run();
