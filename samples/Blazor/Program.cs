using Blazor.Components;

var builder = WebApplication.CreateBuilder(args);
builder.WebHost.UseFastCgi(); // The one line that differs from the Kestrel version.
builder.WebHost.UseStaticWebAssets(); // For blazor.web.js when the application is not published.
builder.Services.AddRazorComponents().AddInteractiveServerComponents();
var app = builder.Build();

app.UseAntiforgery();
app.MapStaticAssets();

// FastCGI has no WebSockets: without nginx-websockets.conf, the circuit of an interactive component uses long polling.
app.MapRazorComponents<App>().AddInteractiveServerRenderMode();
app.Run();
