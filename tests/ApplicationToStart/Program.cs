using System.Diagnostics;

// What the process tests have started by web servers, spawn-fcgi and systemd.
var builder = WebApplication.CreateBuilder(args);
builder.WebHost.UseFastCgi();
var app = builder.Build();

// Asked by mod_fcgid, which tells in which of its own roles.
app.MapFastCgiAuthorizer("/{**path}", static context =>
{
    var user = context.GetServerVariable("REMOTE_USER");
    return ValueTask.FromResult(context.GetServerVariable("FCGI_APACHE_ROLE") switch
    {
        "ACCESS_CHECKER" => context.Request.Query["key"] == "secret",
        "AUTHENTICATOR" => user == "ann" && context.GetServerVariable("REMOTE_PASSWD") == "secret",
        "AUTHORIZER" => user == "ann" && context.Request.Path != "/reports/closed.txt",
        _ => false,
    });
});

app.MapGet("/process", () => Environment.ProcessId);

// What a program that the application starts is given.
app.MapGet("/child", async () =>
{
    using var child = Process.Start(new ProcessStartInfo("sh", ["-c", "env; ls -l /proc/$$/fd"]) { RedirectStandardOutput = true })!;
    return await child.StandardOutput.ReadToEndAsync();
});

app.MapGet("/console", () =>
{
    Console.WriteLine("to standard output");
    Console.Error.WriteLine("to standard error");
});

app.Run();
