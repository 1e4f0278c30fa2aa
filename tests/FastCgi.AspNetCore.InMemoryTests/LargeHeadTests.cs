namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>Header blocks that exceed the default buffers of nginx.</summary>
public class LargeHeadTests
{
    /// <summary>nginx counts the record header: 4,096 bytes fit with it, as FrontEndTests show.</summary>
    [Theory]
    [InlineData(4_095, false)]
    [InlineData(4_096, false)]
    [InlineData(4_097, true)]
    public async Task Head_AroundNginxDefault_Decides(int recordLength, bool isTold)
    {
        var overhead = await MeasureAsync(0) + 8;
        var head = await MeasureAsync(recordLength - overhead);
        Assert.Equal(recordLength, head + 8);

        async Task<int> MeasureAsync(int length)
        {
            await using var server = await TestServer.StartAsync(
                Apps.Do(context => context.Response.Headers["X-Large"] = "x" + new string('x', length)));
            var frontEnd = server.Connect();
            frontEnd.Send(RecordBytes.Get());
            var stdout = await frontEnd.ReadRecordAsync();
            if (length > 0)
                Assert.Equal(isTold, server.Logs.Named("HeadTooLargeForNginx").Count > 0);
            return stdout.Content.AsSpan().IndexOf("\r\n\r\n"u8) + 4;
        }
    }

    [Theory]
    [InlineData(3_000, null)]
    [InlineData(5_000, "fastcgi_buffer_size 8k; fastcgi_buffers 8 8k;")]
    [InlineData(9_000, "fastcgi_buffer_size 16k; fastcgi_buffers 8 16k;")]
    public async Task Head_BeyondNginxDefault_LineToAddIsLogged(int length, string? line)
    {
        await using var frontEnd = await TestServer.ConnectAsync(
            Apps.Do(context => context.Response.Headers["X-Large"] = new string('x', length)));

        await frontEnd.AskAsync();

        var report = frontEnd.Server.Logs.All.SingleOrDefault(log => log.EventName == "HeadTooLargeForNginx");
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
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Do(context
            => context.Response.Headers["X-Large"] = new string('x', int.Parse(context.Request.Path.Value![1..]))));

        foreach (var path in (string[])["/5000", "/9000", "/6000", "/9001"])
            await frontEnd.AskAsync(RecordBytes.Get(uri: path));
        frontEnd.Server.Clock.Advance(TimeSpan.FromMinutes(1));
        await frontEnd.AskAsync(RecordBytes.Get(uri: "/5000"));

        Assert.Equal(2, frontEnd.Server.Logs.Named("HeadTooLargeForNginx").Count);
    }

    [Theory, Values("Apache/2.4.71 (Debian)", "")]
    public async Task Head_BehindAnotherWebServer_IsNotLogged(string software)
    {
        await using var frontEnd = await TestServer.ConnectAsync(
            Apps.Do(context => context.Response.Headers["X-Large"] = new string('x', 5_000)));

        await frontEnd.AskAsync(RecordBytes.Get(more: ("SERVER_SOFTWARE", software)));

        Assert.Empty(frontEnd.Server.Logs.Named("HeadTooLargeForNginx"));
    }
}
