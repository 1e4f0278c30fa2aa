using Microsoft.AspNetCore.SignalR;

var builder = WebApplication.CreateBuilder(args);
builder.WebHost.UseFastCgi(); // The one line that differs from the Kestrel version.
builder.Services.AddSignalR();
var app = builder.Build();

// Through FastCGI, clients use server-sent events or long polling without any setting.
// nginx-websockets.conf sends only the hub to Kestrel, so that clients use WebSockets.
app.MapHub<ChatHub>("/chat");
app.Run();

internal sealed class ChatHub : Hub
{
    public Task Say(string name, string text) => Clients.All.SendAsync("said", $"{name}: {text}");
}
