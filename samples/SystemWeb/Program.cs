// This was Default.aspx:
//
//   <h1>Hello, <%= Request.ServerVariables["REMOTE_ADDR"] %></h1>
//   <p>HTTPS: <%= Request.ServerVariables["HTTPS"] %>, software: <%= Request.ServerVariables["SERVER_SOFTWARE"] %></p>
//   <% foreach (string name in Request.ServerVariables) { %>
//     <li><%= name %> = <%= Server.HtmlEncode(Request.ServerVariables[name]) %></li>
//   <% } %>
//
// A FastCGI application gets the same variables, so the page can still use them.
using System.Net;
using FastCgi.AspNetCore;

var builder = WebApplication.CreateBuilder(args);
builder.WebHost.UseFastCgi();
var app = builder.Build();

app.MapGet("/Default.aspx", (HttpContext context) =>
{
    var items = context.GetServerVariables()
        .Select(variable => $"  <li>{variable.Key} = {WebUtility.HtmlEncode(variable.Value)}</li>\n");
    return Results.Content(
        $"""
        <h1>Hello, {context.GetServerVariable("REMOTE_ADDR")}</h1>
        <p>HTTPS: {context.GetServerVariable("HTTPS") ?? "off"}, software: {context.GetServerVariable("SERVER_SOFTWARE")}</p>
        <ul>
        {string.Concat(items)}</ul>

        """,
        "text/html");
});

app.Run();

internal static class ServerVariables
{
    /// <summary>All of them, as Request.ServerVariables had them. Kestrel has none.</summary>
    public static IReadOnlyList<KeyValuePair<string, string>> GetServerVariables(this HttpContext context)
        => context.Features.Get<IFastCgiRequestFeature>()?.Parameters ?? [];
}
