// As small as a site can be; the same program on both servers. --server fastcgi | kestrel; --urls; --status, where
// Kestrel shows the status.
var builder = WebApplication.CreateBuilder(args);
builder.Logging.ClearProviders();
if (builder.Configuration["server"] == "fastcgi")
    builder.WebHost.UseFastCgi();
if (builder.Configuration["status"] is { } status)
    builder.WebHost.UseUrls(builder.Configuration["urls"]!, status);
var app = builder.Build();
if (builder.Configuration["status"] is not null)
    app.MapFastCgiStatus().AllowAnonymous();
app.MapGet("/", () => "Hello, world!");
app.Run();
