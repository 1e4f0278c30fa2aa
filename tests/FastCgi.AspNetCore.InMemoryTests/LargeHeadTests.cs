namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>
/// Header blocks that exceed the default buffers of nginx. Its buffers may be larger, so nothing warns or recommends.
/// </summary>
public class LargeHeadTests
{
    private const string Nginx = "nginx/1.22.1";

    /// <summary>nginx counts the record header: 4,096 bytes fit with it, as FrontEndTests show.</summary>
    [Theory]
    [InlineData(Nginx, 4_095, null)]
    [InlineData(Nginx, 4_096, null)]
    [InlineData(Nginx, 4_097, "fastcgi_buffer_size 8k; fastcgi_buffers 8 8k;")]
    [InlineData(Nginx, 9_000, "fastcgi_buffer_size 16k; fastcgi_buffers 8 16k;")]
    [InlineData("Apache/2.4.71 (Debian)", 5_000, null)]
    [InlineData("", 5_000, null)]
    public async Task Head_BeyondNginxDefault_LineToAddIsLogged(string software, int recordLength, string? line)
    {
        var overhead = await MeasureAsync(length: 0, line: null);
        Assert.Equal(recordLength, await MeasureAsync(recordLength - overhead, line));

        async Task<int> MeasureAsync(int length, string? line)
        {
            await using var server = await TestServer.StartAsync(
                Apps.Do(context => context.Response.Headers["X-Large"] = "x" + new string('x', length)));
            var frontEnd = server.Connect();
            frontEnd.Send(RecordBytes.Get(more: ("SERVER_SOFTWARE", software)));
            var stdout = await frontEnd.ReadRecordAsync();
            var reports = server.Logs.Named("HeadTooLargeForNginx");
            Assert.Equal(line is null ? [] : [LogLevel.Information], reports.Select(static log => log.Level));
            Assert.All(reports, report => Assert.Contains(line!, report.Message));
            return 8 + stdout.Content.AsSpan().IndexOf("\r\n\r\n"u8) + 4;
        }
    }

    [Fact]
    public async Task Head_BeyondNginxDefaultSeveralTimes_LoggedOnceForEachSize()
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Do(context
            => context.Response.Headers["X-Large"] = new string('x', int.Parse(context.Request.Path.Value![1..]))));

        foreach (var path in (string[])["/5000", "/9000", "/6000", "/9001"])
            await frontEnd.AskAsync(RecordBytes.Get(uri: path));
        frontEnd.Server.Clock.Advance(TimeSpan.FromMinutes(1));
        await frontEnd.AskAsync(RecordBytes.Get(uri: "/5000"));

        Assert.Equal(2, frontEnd.Server.Logs.Named("HeadTooLargeForNginx").Count);
    }
}
