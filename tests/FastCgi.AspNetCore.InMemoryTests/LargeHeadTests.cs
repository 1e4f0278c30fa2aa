using FastCgi.AspNetCore.Testing;
using Microsoft.Extensions.Logging;
using Xunit;

namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>Header blocks that nginx has no room for, as long as nobody gives it some.</summary>
public class LargeHeadTests
{
    [Theory]
    [InlineData(3_000, null)]
    [InlineData(5_000, "fastcgi_buffer_size 8k; fastcgi_buffers 8 8k;")]
    [InlineData(9_000, "fastcgi_buffer_size 16k; fastcgi_buffers 8 16k;")]
    public async Task Head_BeyondNginxDefault_LineToAddIsLogged(int length, string? line)
    {
        await using var server = await TestServer.StartAsync(context =>
        {
            context.Response.Headers["X-Large"] = new string('x', length);
            return Task.CompletedTask;
        });
        var frontEnd = server.Connect();

        frontEnd.Send(RecordBytes.Get());
        await frontEnd.ReadResponseAsync();

        var report = server.Logs.All.SingleOrDefault(log => log.EventName == "HeadTooLargeForNginx");
        Assert.Equal(line is not null, report is not null);
        if (line is not null)
        {
            Assert.Equal(LogLevel.Warning, report!.Level);
            Assert.Contains(line, report.Message, StringComparison.Ordinal);
        }
    }

    [Fact]
    public async Task Head_BeyondNginxDefaultSeveralTimes_LoggedOnceForEachSize()
    {
        await using var server = await TestServer.StartAsync(context =>
        {
            context.Response.Headers["X-Large"] = new string('x', int.Parse(context.Request.Path.Value![1..]));
            return Task.CompletedTask;
        });
        var frontEnd = server.Connect();

        foreach (var path in (string[])["/5000", "/9000", "/6000", "/9001"])
        {
            frontEnd.Send(RecordBytes.Get(uri: path));
            await frontEnd.ReadResponseAsync();
        }

        Assert.Equal(2, server.Logs.All.Count(log => log.EventName == "HeadTooLargeForNginx"));
        Assert.DoesNotContain(server.Logs.All, log => log.EventName == "LargeResponseHead");

        server.Clock.Advance(TimeSpan.FromMinutes(1));
        frontEnd.Send(RecordBytes.Get(uri: "/5000"));
        await frontEnd.ReadResponseAsync();
        Assert.Equal(2, server.Logs.All.Count(log => log.EventName == "HeadTooLargeForNginx"));
        Assert.Single(server.Logs.All, log => log is { EventName: "LargeResponseHead", Level: LogLevel.Debug });
    }

    [Theory]
    [InlineData("Apache/2.4.71 (Debian)")]
    [InlineData("")]
    public async Task Head_BehindAnotherWebServer_IsNoWarning(string software)
    {
        await using var server = await TestServer.StartAsync(context =>
        {
            context.Response.Headers["X-Large"] = new string('x', 5_000);
            return Task.CompletedTask;
        });
        var frontEnd = server.Connect();

        frontEnd.Send(RecordBytes.Get(more: ("SERVER_SOFTWARE", software)));
        await frontEnd.ReadResponseAsync();

        Assert.Equal(LogLevel.Debug, Assert.Single(server.Logs.All, log => log.EventName is "LargeResponseHead" or "HeadTooLargeForNginx").Level);
    }
}
