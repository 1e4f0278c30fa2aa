using FastCgi.AspNetCore;

var builder = WebApplication.CreateBuilder(args);
builder.WebHost.UseFastCgi(options => options.Roles.Add(FastCgiRole.Authorizer));
var app = builder.Build();

// lighttpd asks this application before it serves anything below /members/, PHP or a file. See lighttpd.conf.
app.MapFastCgiAuthorizer("/members/{**path}", context =>
{
    if (context.Request.Headers.Authorization == "Bearer secret")
    {
        context.Response.SetFastCgiVariable("REMOTE_USER", "ann"); // for the PHP page
        return ValueTask.FromResult(true);
    }

    context.Response.StatusCode = StatusCodes.Status401Unauthorized;
    context.Response.Headers.WWWAuthenticate = "Bearer";
    return ValueTask.FromResult(false);
});

app.Run();
