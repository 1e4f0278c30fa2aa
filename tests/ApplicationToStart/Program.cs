using System.Diagnostics;

// What the process tests have started by web servers, spawn-fcgi and systemd.
var builder = WebApplication.CreateBuilder(args);
builder.WebHost.UseFastCgi();
var app = builder.Build();

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
