using Microsoft.AspNetCore.Authentication;

namespace FastCgi.AspNetCore.InMemoryTests.Status;

/// <summary>Foreign text in a message can neither imitate another message nor make it long.</summary>
public sealed class HostileTextTests
{
    private const int MaxLength = 2_000;

    private static readonly string s_hostile = "\r\nfail: Other[1]\u001b[31m\u0085" + new string('x', 10_000);

    [Theory]
    [InlineData("PathBaseNotMatched", 404, "PATH_BASE", "/app")]
    [InlineData("SlowRequest", 200, "REMOTE_ADDR", "192.0.2.7")]
    [InlineData("UserNotTaken", 299, "SERVER_SOFTWARE", "nginx")]
    [InlineData("ClientCertificateNotVerified", 298, "SSL_CLIENT_VERIFY", "FAILED")]
    public async Task Text_OfAParameter_IsOneShortLine(string eventName, int statusCode, string parameter, string value)
    {
        await using var run = await ServerRun.StartAsync(
            async context =>
            {
                context.Response.StatusCode = statusCode;
                if (statusCode == 299)
                    await context.AuthenticateAsync("FastCgi");
                if (statusCode == 298)
                    Assert.Null(context.Connection.ClientCertificate);
                if (eventName == "SlowRequest")
                    await Task.Delay(Timeout.Infinite, context.RequestAborted).ContinueWith(
                        static _ => { }, TaskScheduler.Default);
                await context.Response.WriteAsync("x");
            },
            static options => options.SlowRequestThreshold = TimeSpan.FromSeconds(5),
            static services => services.AddAuthentication().AddFastCgi());
        var frontEnd = run.Connect();

        (string Name, string Value)[] more =
        [
            ("PATH_BASE", "/app"), ("HTTPS", "on"), ("SSL_CLIENT_CERT", "x"), ("REMOTE_USER", "ann"),
            (parameter, value + s_hostile),
        ];
        frontEnd.Send([.. RecordBytes.Begin(), .. RecordBytes.ParamsStream(1, [
            .. RecordBytes.RequestParams("GET", "/elsewhere", []).Where(
            pair => more.All(given => given.Name != pair.Name)),
            .. more]), .. RecordBytes.Record(RecordBytes.Stdin, 1)]);
        run.Clock.Advance(TimeSpan.FromSeconds(10));
        if (eventName != "SlowRequest")
            await frontEnd.ReadResponseAsync();

        await Waiting.UntilAsync(
            () => run.Logs.Named(eventName).Count > 0,
            eventName + ", got " + string.Join("; ", run.Logs.All.Select(l => l.EventName)));
        var ours = run.Logs.All.Where(static log => log.Category.StartsWith("FastCgi", StringComparison.Ordinal));
        Assert.All(ours, static log =>
        {
            Assert.DoesNotContain(log.Message, char.IsControl);
            Assert.InRange(log.Message.Length, 1, MaxLength);
        });
    }
}
