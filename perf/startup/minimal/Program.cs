// As small as a site can be; the same program on both servers. --server fastcgi | kestrel; --urls.
var builder = WebApplication.CreateBuilder(args);
builder.Logging.ClearProviders();
if (builder.Configuration["server"] == "fastcgi")
    builder.WebHost.UseFastCgi();
var app = builder.Build();
app.MapGet("/", () => "Hello, world!");
app.Run();
